#include "chart.hpp"

#include <cmath>
#include <limits>
#include <numeric>

namespace capeval {
namespace {

constexpr float impossible = -std::numeric_limits<float>::infinity();
constexpr float flood_score = -1000.0f;  // of every tag on every word, for a caption that has no parse otherwise
constexpr int max_chain = 64;            // more unary rules over one span must be a circle
constexpr int64_t captions_per_block = 32;

size_t at(int32_t number) { return static_cast<size_t>(number); }

template <class T>
struct Range {
    const T* first;
    const T* last;

    const T* begin() const { return first; }
    const T* end() const { return last; }
};

struct Binary {
    int32_t parent, left, right;
    float score;
};

struct Unary {
    int32_t parent, child;
    float score;
};

// A binary rule seen from the child that is looped over; the other child is looked up.
struct Step {
    int32_t other, parent;
    float score;
};

struct Item {
    int32_t state;
    float score;
};

// An item of a cell, with the steps it can take.
struct Active {
    int32_t first, last;
    float score;
};

template <class T>
struct Keyed {
    int32_t key;
    T value;
};

// Lists of T, one per key, in one array. Within a list the order of insertion is kept.
template <class T>
class Lists {
public:
    Lists() = default;
    Lists(size_t keys, const std::vector<Keyed<T>>& entries) : starts_(keys + 1, 0), values_(entries.size()) {
        for (const auto& entry : entries) ++starts_[at(entry.key) + 1];
        std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
        std::vector<int32_t> next = starts_;
        for (const auto& entry : entries) values_[at(next[at(entry.key)]++)] = entry.value;
    }

    int32_t first(int32_t key) const { return starts_[at(key)]; }
    int32_t last(int32_t key) const { return starts_[at(key) + 1]; }
    Range<T> operator[](int32_t key) const { return {values_.data() + first(key), values_.data() + last(key)}; }
    const T* data() const { return values_.data(); }

private:
    std::vector<int32_t> starts_;
    std::vector<T> values_;
};

// All rules of the grammar, with the unary rules closed over chains.
struct WholeGrammar {
    const GrammarRules& source;
    std::vector<Binary> binary;
    std::vector<Unary> unary;
    std::vector<Unary> closed;

    explicit WholeGrammar(const GrammarRules& rules) : source(rules) {
        for (int64_t r = 0; r < rules.binary_scores.size; ++r) {
            const int32_t* states = rules.binary.data + 3 * r;
            binary.push_back({states[0], states[1], states[2], rules.binary_scores[r]});
        }
        for (int64_t r = 0; r < rules.unary_scores.size; ++r) {
            const int32_t* states = rules.unary.data + 2 * r;
            if (states[0] != states[1]) unary.push_back({states[0], states[1], rules.unary_scores[r]});
        }
        close_unary();
    }

private:
    // The best chain from each child to each parent: one state after the other becomes a possible station.
    void close_unary() {
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
};

// The part of the grammar that the captions at hand can use, its states numbered anew in the same order. Most captions
// have no comma, quote or bracket, and many rules wait for one.
class UsableGrammar {
public:
    UsableGrammar(const WholeGrammar& whole, std::vector<uint8_t> given_tags) {
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

    size_t states() const { return is_tag.size(); }

    std::vector<int32_t> new_number;  // of each state of the whole grammar; -1: not usable
    int32_t root = -1, end = -1;
    std::vector<uint8_t> is_tag;
    std::vector<std::string_view> labels;
    std::vector<float> bounds;

    std::vector<int32_t> place;  // where a cell's row keeps the state's score; -1: no rule looks it up
    int32_t row_size = 0;
    Lists<Step> by_left, by_right;  // rules whose left (right) child is looped over
    Lists<Unary> closed_by_child;
    Lists<Binary> binary_by_parent;
    Lists<Unary> unary_by_parent;
    std::vector<Binary> root_rules;  // root -> whole caption, end symbol

private:
    static void find_derivable(const WholeGrammar& whole, std::vector<uint8_t>& derivable) {
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

    static void find_useful(const WholeGrammar& whole, const std::vector<uint8_t>& derivable,
                            std::vector<uint8_t>& useful) {
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

    void number_next(const GrammarRules& rules, size_t state) {
        new_number[state] = static_cast<int32_t>(states());
        is_tag.push_back(rules.is_tag.data[state]);
        labels.push_back(rules.labels[state]);
        if (rules.bounds.size > 0) bounds.push_back(rules.bounds.data[state]);
    }

    void take_rules(const WholeGrammar& whole) {
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
    void arrange_steps(const std::vector<Keyed<Binary>>& kept) {
        std::vector<Keyed<Step>> from_left, from_right;
        place.assign(states(), -1);
        const auto place_of = [&](int32_t state) {
            if (place[at(state)] < 0) place[at(state)] = row_size++;
            return place[at(state)];
        };
        for (const auto& [parent, rule] : kept) {
            if (labels[at(rule.left)].empty() || !labels[at(rule.right)].empty()) {
                from_left.push_back({rule.left, {place_of(rule.right), parent, rule.score}});
            } else {
                from_right.push_back({rule.right, {place_of(rule.left), parent, rule.score}});
            }
        }
        by_left = Lists<Step>(states(), from_left);
        by_right = Lists<Step>(states(), from_right);
    }
};

// The words of one caption with their tags, as states of the usable grammar.
struct Sentence {
    std::vector<std::string_view> words;
    std::vector<std::vector<Item>> tags;
    bool is_flooded = false;

    int64_t length() const { return static_cast<int64_t>(words.size()); }
};

// Inside scores of all spans of a sentence, and the tree they stand for. Reused from sentence to sentence.
class Chart {
public:
    explicit Chart(const UsableGrammar& grammar)
        : grammar_(grammar), best_(grammar.states(), impossible), touched_((grammar.states() + 63) / 64, 0) {}

    // The score of the best tree; items that cannot be part of a tree of at least `floor` may be left out.
    float fill(const Sentence& sentence, float floor) {
        sentence_ = &sentence;
        length_ = sentence.length();
        reset();
        set_thresholds(floor);
        for (int64_t end = 1; end <= length_; ++end) {
            put_tags(end - 1);
            finish_cell(end - 1, end);
            for (int64_t begin = end - 2; begin >= 0; --begin) {
                for (int64_t split = begin + 1; split < end; ++split) combine(begin, split, end);
                finish_cell(begin, end);
            }
        }
        float root_score = impossible;
        for (const Binary& rule : grammar_.root_rules) root_score = std::max(root_score, root_score_by(rule));
        return root_score;
    }

    // No tree is better than this, by the bounds alone.
    float upper_bound(const Sentence& sentence) const {
        double sum = grammar_.bounds[at(grammar_.root)];
        for (const auto& tags : sentence.tags) sum += best_reduced(tags);
        return static_cast<float>(sum);
    }

    // The tree in brackets, or nothing where no rule accounts for a score (a grammar with circles).
    std::string tree(float root_score) {
        text_.clear();
        for (const Binary& rule : grammar_.root_rules) {
            if (root_score_by(rule) != root_score) continue;
            text_ += '(';
            text_ += grammar_.labels[at(grammar_.root)];
            const bool is_whole = write(rule.left, 0, length_, 0);
            text_ += ')';
            return is_whole ? text_ : std::string();
        }
        return {};
    }

private:
    struct Cell {
        size_t items, lefts, rights;  // where the next cell's begin
    };

    size_t cell_number(int64_t begin, int64_t end) const {
        return static_cast<size_t>(end * (end - 1) / 2 + (end - 1 - begin));
    }

    void reset() {
        items_.clear();
        lefts_.clear();
        rights_.clear();
        cells_.assign(1, Cell{0, 0, 0});
        rows_.assign(cell_number(0, length_) * at(grammar_.row_size) + at(grammar_.row_size), impossible);
    }

    double best_reduced(const std::vector<Item>& tags) const {
        double best = impossible;
        for (const Item& tag : tags) best = std::max(best, double{tag.score} - grammar_.bounds[at(tag.state)]);
        return best;
    }

    // A bound b per state with b(parent) >= rule + b(left) + b(right) for every rule says how much any derivation can
    // gain: a tree that has state s over a span scores at most b(root) + (inside - b(s)) + the sum, over the words
    // outside, of the best (tag score - b(tag)). So inside - b(s) has a threshold for each span.
    void set_thresholds(float floor) {
        is_pruned_ = floor != impossible;
        if (!is_pruned_) return;
        outside_.assign(1, 0.0);
        for (const auto& tags : sentence_->tags) outside_.push_back(outside_.back() + best_reduced(tags));
        floor_ = double{floor} - grammar_.bounds[at(grammar_.root)] - outside_.back();
    }

    float threshold(int64_t begin, int64_t end) const {
        return static_cast<float>(floor_ + outside_[static_cast<size_t>(end)] - outside_[static_cast<size_t>(begin)]);
    }

    void raise(int32_t state, float score) {
        best_[at(state)] = score;
        touched_[at(state) / 64] |= uint64_t{1} << (at(state) % 64);
    }

    void put_tags(int64_t word) {
        for (const Item& tag : sentence_->tags[static_cast<size_t>(word)]) raise(tag.state, tag.score);
        if (!sentence_->is_flooded) return;
        for (size_t state = 0; state < grammar_.states(); ++state) {
            if (grammar_.is_tag[state] && best_[state] == impossible) raise(static_cast<int32_t>(state), flood_score);
        }
    }

    void combine(int64_t begin, int64_t split, int64_t end) {
        const size_t left = cell_number(begin, split), right = cell_number(split, end);
        const float* left_row = row(left);
        const float* right_row = row(right);
        float* best = best_.data();
        for (size_t i = cells_[left].lefts; i < cells_[left + 1].lefts; ++i) {
            const Active item = lefts_[i];
            for (const Step* step = grammar_.by_left.data() + item.first; step != grammar_.by_left.data() + item.last;
                 ++step) {
                const float score = (step->score + item.score) + right_row[step->other];
                if (score > best[step->parent]) raise(step->parent, score);
            }
        }
        for (size_t i = cells_[right].rights; i < cells_[right + 1].rights; ++i) {
            const Active item = rights_[i];
            for (const Step* step = grammar_.by_right.data() + item.first; step != grammar_.by_right.data() + item.last;
                 ++step) {
                const float score = (step->score + left_row[step->other]) + item.score;
                if (score > best[step->parent]) raise(step->parent, score);
            }
        }
    }

    float* row(size_t cell) { return rows_.data() + cell * at(grammar_.row_size); }

    template <class Visit>
    void for_touched(const Visit& visit) {
        for (size_t block = 0; block < touched_.size(); ++block) {
            // Visiting may touch further states; those with a higher number have their turn too.
            for (uint64_t left = touched_[block]; left != 0;) {
                const int bit = lowest_bit(left);
                visit(static_cast<int32_t>(block * 64) + bit);
                left = bit == 63 ? 0 : touched_[block] & (~uint64_t{0} << (bit + 1));
            }
        }
    }

    static int lowest_bit(uint64_t bits) {
#if defined(__GNUC__) || defined(__clang__)
        return __builtin_ctzll(bits);
#else
        int bit = 0;
        while (!(bits >> bit & 1)) ++bit;
        return bit;
#endif
    }

    // Applies the unary rules, in the order of states and in place as the official parser does, and stores the cell.
    void finish_cell(int64_t begin, int64_t end) {
        for_touched([&](int32_t state) {
            const float score = best_[at(state)];
            for (const Unary& chain : grammar_.closed_by_child[state]) {
                if (score + chain.score > best_[at(chain.parent)]) raise(chain.parent, score + chain.score);
            }
        });
        float* scores = row(cell_number(begin, end));
        const float lowest = is_pruned_ ? threshold(begin, end) : impossible;
        for_touched([&](int32_t state) {
            const float score = std::exchange(best_[at(state)], impossible);
            if (is_pruned_ && score - grammar_.bounds[at(state)] < lowest) return;
            items_.push_back({state, score});
            if (grammar_.place[at(state)] >= 0) scores[grammar_.place[at(state)]] = score;
            add_active(grammar_.by_left, state, score, lefts_);
            add_active(grammar_.by_right, state, score, rights_);
        });
        std::fill(touched_.begin(), touched_.end(), 0);
        cells_.push_back({items_.size(), lefts_.size(), rights_.size()});
    }

    static void add_active(const Lists<Step>& steps, int32_t state, float score, std::vector<Active>& active) {
        const int32_t first = steps.first(state), last = steps.last(state);
        if (first < last) active.push_back({first, last, score});
    }

    float score_of(int32_t state, int64_t begin, int64_t end) const {
        const size_t cell = cell_number(begin, end);
        const auto first = items_.begin() + static_cast<std::ptrdiff_t>(cells_[cell].items);
        const auto last = items_.begin() + static_cast<std::ptrdiff_t>(cells_[cell + 1].items);
        const auto found = std::lower_bound(first, last, state, [](const Item& a, int32_t b) { return a.state < b; });
        return found != last && found->state == state ? found->score : impossible;
    }

    float root_score_by(const Binary& rule) const { return rule.score + score_of(rule.left, 0, length_); }

    bool is_tag_of(int32_t state, int64_t word) const {
        if (!grammar_.is_tag[at(state)]) return false;
        if (sentence_->is_flooded) return true;
        const auto& tags = sentence_->tags[static_cast<size_t>(word)];
        return std::any_of(tags.begin(), tags.end(), [&](const Item& tag) { return tag.state == state; });
    }

    // Writes what stands below a state; false where no rule accounts for its score.
    bool write(int32_t state, int64_t begin, int64_t end, int chain) {
        const std::string_view label = grammar_.labels[at(state)];
        if (!label.empty()) {
            text_ += " (";
            text_ += label;
        }
        if (end - begin == 1 && is_tag_of(state, begin)) {
            text_ += ' ';
            text_ += sentence_->words[static_cast<size_t>(begin)];
        } else if (!write_children(state, begin, end, chain)) {
            return false;
        }
        if (!label.empty()) text_ += ')';
        return true;
    }

    // The rule of the highest sum, in double precision; of equal ones the first, by split and then in the grammar's
    // order, binary rules before unary ones. The sums in the chart are rounded, so none need equal the span's score.
    bool write_children(int32_t state, int64_t begin, int64_t end, int chain) {
        double best = impossible;
        const Binary* best_binary = nullptr;
        const Unary* best_unary = nullptr;
        int64_t best_split = 0;
        for (int64_t split = begin + 1; split < end; ++split) {
            for (const Binary& rule : grammar_.binary_by_parent[state]) {
                const float left = score_of(rule.left, begin, split);
                if (left == impossible) continue;
                const double sum = double{rule.score} + left + score_of(rule.right, split, end);
                if (sum > best) best = sum, best_binary = &rule, best_split = split;
            }
        }
        for (const Unary& rule : grammar_.unary_by_parent[state]) {
            const double sum = double{rule.score} + score_of(rule.child, begin, end);
            if (sum > best) best = sum, best_unary = &rule;
        }
        if (best_unary != nullptr) return chain < max_chain && write(best_unary->child, begin, end, chain + 1);
        if (best_binary == nullptr) return false;
        return write(best_binary->left, begin, best_split, 0) && write(best_binary->right, best_split, end, 0);
    }

    const UsableGrammar& grammar_;
    const Sentence* sentence_ = nullptr;
    int64_t length_ = 0;

    std::vector<float> best_;        // of the cell at hand, per state
    std::vector<uint64_t> touched_;  // one bit per state: has a score in the cell at hand

    std::vector<Item> items_;  // of all cells, ascending by state within a cell
    std::vector<Active> lefts_, rights_;
    std::vector<Cell> cells_;
    std::vector<float> rows_;

    bool is_pruned_ = false;
    double floor_ = 0;
    std::vector<double> outside_;  // sum of the best reduced tag scores before each word
    std::string text_;
};

// Rounding may make the tree's own sum differ from its score in the chart by no more than this.
double rounding_margin(double best, int64_t words) {
    return 1e-6 * std::abs(best) * static_cast<double>(4 * words + 10) + 1e-3;
}

// Fills the chart such that everything near the best tree is in it. With bounds, a floor is guessed and proven by the
// score that is found, or lowered to it.
float fill_exactly(Chart& chart, const Sentence& sentence, bool has_bounds) {
    if (has_bounds) {
        const double bound = chart.upper_bound(sentence);
        if (bound == impossible) return impossible;
        for (double slack = 4.0 + 1.5 * static_cast<double>(sentence.length()); slack < 500.0; slack *= 1.8) {
            const float best = chart.fill(sentence, static_cast<float>(bound - slack));
            if (best == impossible) continue;
            const double needed = best - rounding_margin(best, sentence.length());
            return needed >= bound - slack ? best : chart.fill(sentence, static_cast<float>(needed));
        }
    }
    return chart.fill(sentence, impossible);
}

std::string flat_tree(const std::vector<std::string_view>& words) {
    std::string text = "(X";
    for (const auto word : words) text.append(" (XX ").append(word).append(")");
    return text + ")";
}

class BlockParser {
public:
    BlockParser(const Captions& captions, const WordTags& words, const WholeGrammar& whole)
        : captions_(captions), words_(words), whole_(whole) {}

    void parse(int64_t first, int64_t last, std::vector<std::string>& trees) const {
        std::vector<uint8_t> tags(whole_.source.labels.size(), 0);
        for (int64_t c = first; c < last; ++c) {
            for (int64_t t = 0; t < captions_.length(c); ++t) {
                const int32_t word = captions_.begin(c)[t];
                for (int64_t k = words_.offsets[word]; k < words_.offsets[word + 1]; ++k) tags[at(words_.states[k])] = 1;
            }
        }
        const UsableGrammar usable(whole_, std::move(tags));
        Chart chart(usable);
        for (int64_t c = first; c < last; ++c) {
            const Sentence sentence = sentence_of(c, usable);
            std::string& tree = trees[static_cast<size_t>(c)];
            if (sentence.length() == 0) continue;
            const float best = usable.root < 0 ? impossible : fill_exactly(chart, sentence, !usable.bounds.empty());
            if (best != impossible) tree = chart.tree(best);
            if (tree.empty()) tree = flooded_tree(c);
        }
    }

private:
    Sentence sentence_of(int64_t caption, const UsableGrammar& usable) const {
        Sentence sentence;
        for (int64_t t = 0; t < captions_.length(caption); ++t) {
            const int32_t word = captions_.begin(caption)[t];
            sentence.words.push_back(words_.spellings[at(word)]);
            auto& tags = sentence.tags.emplace_back();
            for (int64_t k = words_.offsets[word]; k < words_.offsets[word + 1]; ++k) {
                const int32_t state = usable.new_number[at(words_.states[k])];
                if (state >= 0) tags.push_back({state, words_.scores[k]});
            }
        }
        return sentence;
    }

    // Rare: with every tag on every word, nearly every caption has a parse.
    std::string flooded_tree(int64_t caption) const {
        const auto& is_tag = whole_.source.is_tag;
        const UsableGrammar usable(whole_, std::vector<uint8_t>(is_tag.begin(), is_tag.end()));
        Sentence sentence = sentence_of(caption, usable);
        sentence.is_flooded = true;
        std::string tree;
        if (usable.root >= 0) {
            Chart chart(usable);
            const float best = chart.fill(sentence, impossible);
            if (best != impossible) tree = chart.tree(best);
        }
        return tree.empty() ? flat_tree(sentence.words) : tree;
    }

    const Captions& captions_;
    const WordTags& words_;
    const WholeGrammar& whole_;
};

void check(const GrammarRules& rules) {
    const int64_t states = rules.states();
    require(states < INT32_MAX, "too many states");
    require(rules.binary.size == 3 * rules.binary_scores.size, "binary and binary_scores differ in length");
    require(rules.unary.size == 2 * rules.unary_scores.size, "unary and unary_scores differ in length");
    require(rules.is_tag.size == states, "is_tag and labels differ in length");
    require(rules.bounds.size == 0 || rules.bounds.size == states, "bounds and labels differ in length");
    check_range(rules.binary, states, "binary must hold states");
    check_range(rules.unary, states, "unary must hold states");
    const auto is_state = [&](int32_t state) { return state >= 0 && state < states; };
    require(is_state(rules.root) && is_state(rules.end), "root and end must be states");
    const auto no_nan = [](View<float> scores) {
        return std::none_of(scores.begin(), scores.end(), [](float s) { return std::isnan(s) || s == -impossible; });
    };
    require(no_nan(rules.binary_scores) && no_nan(rules.unary_scores) && no_nan(rules.bounds), "scores must be numbers");
}

void check(const WordTags& words, int64_t states) {
    require(words.states.size == words.scores.size, "tags and tag_scores differ in length");
    check_offsets(words.offsets, words.states.size, "tag_offsets must rise from 0 to the number of tags");
    require(words.offsets.size == static_cast<int64_t>(words.spellings.size()) + 1, "tag_offsets and words differ");
    check_range(words.states, states, "tags must be states");
    for (const float score : words.scores) require(std::isfinite(score), "tag_scores must be finite");
}

}  // namespace

std::vector<std::string> parse_captions(const Captions& captions, const WordTags& words, const GrammarRules& rules,
                                        int64_t max_tokens, int threads) {
    check(captions);
    check(rules);
    check(words, rules.states());
    check_range(captions.tokens, static_cast<int64_t>(words.spellings.size()), "tokens must be indices of words");
    check_threads(threads);
    for (int64_t c = 0; c < captions.count(); ++c) {
        require(captions.length(c) <= max_tokens, "a caption has more than max_tokens tokens");
    }
    const WholeGrammar whole(rules);
    std::vector<std::string> trees(static_cast<size_t>(captions.count()));
    const BlockParser parser(captions, words, whole);
    for_blocks(captions.count(), captions_per_block, threads,
               [&](int64_t first, int64_t last) { parser.parse(first, last, trees); });
    return trees;
}

}  // namespace capeval
