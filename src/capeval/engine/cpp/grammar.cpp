#include "grammar.hpp"

#include <cmath>

namespace capeval {
namespace {

void find_derivable(const WholeGrammar& whole, std::vector<uint8_t>& derivable) {
    bool changed = true;
    const auto mark = [&](int32_t state) {
        changed = changed || !derivable[at(state)];
        derivable[at(state)] = 1;
    };
    while (changed) {
        changed = false;
        for (const Binary& rule : whole.binary) {
            if (derivable[at(rule.left)] && derivable[at(rule.right)]) mark(rule.parent);
        }
        for (const Unary& rule : whole.unary) {
            if (derivable[at(rule.child)]) mark(rule.parent);
        }
    }
}

void find_useful(const WholeGrammar& whole, const std::vector<uint8_t>& derivable, std::vector<uint8_t>& useful) {
    bool changed = true;
    const auto mark = [&](int32_t state) {
        changed = changed || !useful[at(state)];
        useful[at(state)] = 1;
    };
    while (changed) {
        changed = false;
        for (const Binary& rule : whole.binary) {
            if (!useful[at(rule.parent)] || !derivable[at(rule.left)] || !derivable[at(rule.right)]) continue;
            mark(rule.left);
            mark(rule.right);
        }
        for (const Unary& rule : whole.unary) {
            if (useful[at(rule.parent)] && derivable[at(rule.child)]) mark(rule.child);
        }
    }
}

}  // namespace

void check(const GrammarRules& rules) {
    const int64_t states = rules.states();
    require(states <= UINT16_MAX, "too many states");
    require(rules.binary.size == 3 * rules.binary_scores.size, "binary and binary_scores differ in length");
    require(rules.unary.size == 2 * rules.unary_scores.size, "unary and unary_scores differ in length");
    require(rules.is_tag.size == states, "is_tag and labels differ in length");
    check_range(rules.binary, states, "binary must hold states");
    check_range(rules.unary, states, "unary must hold states");
    const auto is_state = [&](int32_t state) { return state >= 0 && state < states; };
    require(is_state(rules.root) && is_state(rules.end), "root and end must be states");
    const auto no_nan = [](View<float> scores) {
        return std::none_of(scores.begin(), scores.end(), [](float s) { return std::isnan(s) || s == -impossible; });
    };
    require(no_nan(rules.binary_scores) && no_nan(rules.unary_scores), "scores must be numbers");
}

WholeGrammar::WholeGrammar(const GrammarRules& rules) : source(rules) {
    for (int64_t r = 0; r < rules.binary_scores.size; ++r) {
        const int32_t* states = rules.binary.data + 3 * r;
        binary.push_back({states[0], states[1], states[2], rules.binary_scores[r]});
    }
    for (int64_t r = 0; r < rules.unary_scores.size; ++r) {
        const int32_t* states = rules.unary.data + 2 * r;
        if (states[0] != states[1]) unary.push_back({states[0], states[1], rules.unary_scores[r]});
    }
    close_unary();
    find_first_tags();
}

void WholeGrammar::find_first_tags() {
    tag_number.assign(source.labels.size(), -1);
    int32_t tags = 0;
    for (size_t state = 0; state < tag_number.size(); ++state) {
        if (source.is_tag.data[state]) tag_number[state] = tags++;
    }
    first_tags.assign(source.labels.size(), no_bits(at(tags)));
    for (size_t state = 0; state < tag_number.size(); ++state) {
        if (tag_number[state] >= 0) set_bit(first_tags[state], at(tag_number[state]));
    }
    bool changed = true;
    const auto add = [&](int32_t parent, int32_t child) {
        Bits& own = first_tags[at(parent)];
        const Bits& more = first_tags[at(child)];
        for (size_t i = 0; i < own.size(); ++i) {
            changed = changed || (more[i] & ~own[i]) != 0;
            own[i] |= more[i];
        }
    };
    while (changed) {
        changed = false;
        for (const Binary& rule : binary) add(rule.parent, rule.left);
        for (const Unary& rule : unary) add(rule.parent, rule.child);
    }
}

// The best chain from each child to each parent: one state after the other becomes a possible station.
void WholeGrammar::close_unary() {
    using Ends = std::vector<Item>;
    std::vector<Ends> parents(source.labels.size()), children(source.labels.size());
    const auto relax = [](Ends& ends, int32_t state, float score) {
        const auto found = std::find_if(ends.begin(), ends.end(), [&](const Item& e) { return e.state == state; });
        if (found == ends.end()) {
            ends.push_back({state, score});
        } else {
            found->score = std::max(found->score, score);
        }
    };
    for (const Unary& rule : unary) {
        relax(parents[at(rule.child)], rule.parent, rule.score);
        relax(children[at(rule.parent)], rule.child, rule.score);
    }
    for (size_t station = 0; station < parents.size(); ++station) {
        const Ends above = parents[station], below = children[station];
        for (const Item& parent : above) {
            for (const Item& child : below) {
                if (parent.state == child.state) continue;
                relax(parents[at(child.state)], parent.state, parent.score + child.score);
                relax(children[at(parent.state)], child.state, parent.score + child.score);
            }
        }
    }
    for (size_t child = 0; child < parents.size(); ++child) {
        for (const Item& end : parents[child]) closed.push_back({end.state, static_cast<int32_t>(child), end.score});
    }
}

UsableGrammar::UsableGrammar(const WholeGrammar& whole, std::vector<uint8_t> given_tags) {
    const GrammarRules& rules = whole.source;
    std::vector<uint8_t>& derivable = given_tags;
    derivable[at(rules.end)] = 1;
    find_derivable(whole, derivable);
    std::vector<uint8_t> useful(derivable.size(), 0);
    useful[at(rules.root)] = 1;
    find_useful(whole, derivable, useful);
    new_number.assign(derivable.size(), -1);
    for (size_t state = 0; state < derivable.size(); ++state) {
        if (derivable[state] && useful[state]) number_next(rules, state);
    }
    root = new_number[at(rules.root)];
    end = new_number[at(rules.end)];
    if (root >= 0) take_rules(whole);
}

void UsableGrammar::number_next(const GrammarRules& rules, size_t state) {
    new_number[state] = static_cast<int32_t>(states());
    is_tag.push_back(rules.is_tag.data[state]);
    labels.push_back(rules.labels[state]);
}

void UsableGrammar::take_rules(const WholeGrammar& whole) {
    std::vector<Keyed<Binary>> kept;
    for (const Binary& rule : whole.binary) {
        const Binary own{new_number[at(rule.parent)], new_number[at(rule.left)], new_number[at(rule.right)],
                         rule.score};
        if (own.parent < 0 || own.left < 0 || own.right < 0 || own.left == end) continue;
        // Only the whole caption stands before the end symbol, and only the root above both.
        if (own.right != end) {
            kept.push_back({own.parent, own});
        } else if (own.parent == root) {
            root_rules.push_back(own);
        }
    }
    binary_by_parent = Lists<Binary>(states(), kept);

    std::vector<Keyed<Unary>> chains, single;
    const auto take = [&](const Unary& rule, std::vector<Keyed<Unary>>& rules, bool by_child) {
        const Unary own{new_number[at(rule.parent)], new_number[at(rule.child)], rule.score};
        if (own.parent >= 0 && own.child >= 0) rules.push_back({by_child ? own.child : own.parent, own});
    };
    for (const Unary& rule : whole.closed) take(rule, chains, true);
    for (const Unary& rule : whole.unary) take(rule, single, false);
    closed_by_child = Lists<Unary>(states(), chains);
    unary_by_parent = Lists<Unary>(states(), single);
    arrange_steps(kept);
}

// States that the tree does not show have few rules each, the others many: looping over the former and looking up
// the latter, few steps meet a child that is not there, and the rows that are looked into are short.
void UsableGrammar::arrange_steps(const std::vector<Keyed<Binary>>& kept) {
    std::vector<Keyed<Step>> from_left, from_right;
    place.assign(states(), -1);
    std::vector<int32_t> old_number(states());
    for (size_t old = 0; old < new_number.size(); ++old) {
        if (new_number[old] >= 0) old_number[at(new_number[old])] = static_cast<int32_t>(old);
    }
    const auto place_of = [&](int32_t state) {
        if (place[at(state)] < 0) {
            place[at(state)] = static_cast<int32_t>(state_at.size());
            state_at.push_back(old_number[at(state)]);
        }
        return static_cast<uint16_t>(place[at(state)]);
    };
    for (const auto& [parent, rule] : kept) {
        const auto above = static_cast<uint16_t>(parent);
        if (labels[at(rule.left)].empty() || !labels[at(rule.right)].empty()) {
            from_left.push_back({rule.left, {place_of(rule.right), above, rule.score}});
        } else {
            from_right.push_back({rule.right, {place_of(rule.left), above, rule.score}});
        }
    }
    by_left = Lists<Step>(states(), from_left);
    by_right = Lists<Step>(states(), from_right);
}

}  // namespace capeval
