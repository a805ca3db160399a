#include "chart.hpp"

#include <cmath>

#include "grammar.hpp"

namespace capeval {
namespace {

constexpr float flood_score = -1000.0f;  // of every tag on every word, for a caption that has no parse otherwise
constexpr int max_chain = 64;            // more unary rules over one span must be a circle
constexpr int64_t captions_per_block = 32;

// A step of an item whose own score is known. For a left child, `score` holds the rule's score and the item's; for a
// right child they stay apart, because the rule and the left child are added first.
struct LeftStep {
    uint16_t other, parent;
    float score;
};
struct RightStep {
    uint16_t other, parent;
    float rule, item;
};

// The words of one caption with their tags, as states of the usable grammar.
struct Sentence {
    std::vector<std::string_view> words;
    std::vector<std::vector<Item>> tags;
    std::vector<Bits> tag_bits;  // the same tags by `tag_number`
    bool is_flooded = false;

    int64_t length() const { return static_cast<int64_t>(words.size()); }
};

// Inside scores of all spans of a sentence, and the tree they stand for. Reused from sentence to sentence.
class Chart {
public:
    Chart(const WholeGrammar& whole, const UsableGrammar& grammar)
        : whole_(whole),
          grammar_(grammar),
          row_size_(grammar.state_at.size()),
          best_(grammar.states(), impossible),
          touched_(no_bits(grammar.states())) {}

    // The score of the best tree.
    float fill(const Sentence& sentence) {
        sentence_ = &sentence;
        length_ = sentence.length();
        reset();
        for (int64_t end = 1; end <= length_; ++end) {
            put_tags(end - 1);
            finish_cell(end - 1, end);
            for (int64_t begin = end - 2; begin >= 0; --begin) {
                for (int64_t split = begin + 1; split < end; ++split) combine(begin, split, end);
                find_touched();
                finish_cell(begin, end);
            }
        }
        float root_score = impossible;
        for (const Binary& rule : grammar_.root_rules) root_score = std::max(root_score, root_score_by(rule));
        return root_score;
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
        rows_.assign((cell_number(0, length_) + 1) * row_size_, impossible);
        ends_.assign(static_cast<size_t>(length_) + 1, no_bits(row_size_));
        find_starts();
    }

    // What can begin at each word, as far as its tags tell.
    void find_starts() {
        starts_.assign(static_cast<size_t>(length_) + 1, no_bits(row_size_));
        for (size_t word = 0; word < static_cast<size_t>(length_); ++word) {
            for (size_t place = 0; place < row_size_; ++place) {
                const Bits& tags = whole_.first_tags[at(grammar_.state_at[place])];
                if (sentence_->is_flooded || have_common(tags, sentence_->tag_bits[word])) set_bit(starts_[word], place);
            }
        }
    }

    void raise(int32_t state, float score) {
        best_[at(state)] = score;
        set_bit(touched_, at(state));
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
        const LeftStep* const left_end = lefts_.data() + cells_[left + 1].lefts;
        for (const LeftStep* step = lefts_.data() + cells_[left].lefts; step != left_end; ++step) {
            const float score = step->score + right_row[step->other];
            best[step->parent] = std::max(best[step->parent], score);
        }
        const RightStep* const right_end = rights_.data() + cells_[right + 1].rights;
        for (const RightStep* step = rights_.data() + cells_[right].rights; step != right_end; ++step) {
            const float score = (step->rule + left_row[step->other]) + step->item;
            best[step->parent] = std::max(best[step->parent], score);
        }
    }

    // Marking states while scores are raised would cost a branch that is hard to predict.
    void find_touched() {
        const size_t states = grammar_.states();
        for (size_t block = 0; block < touched_.size(); ++block) {
            uint64_t bits = 0;
            const size_t count = std::min<size_t>(64, states - block * 64);
            for (size_t i = 0; i < count; ++i) bits |= uint64_t{best_[block * 64 + i] != impossible} << i;
            touched_[block] = bits;
        }
    }

    float* row(size_t cell) { return rows_.data() + cell * row_size_; }

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
        const Bits& starts = starts_[static_cast<size_t>(end)];
        const Bits& ends = ends_[static_cast<size_t>(begin)];
        Item* item = items_.room(grammar_.states());
        LeftStep* left = lefts_.room(grammar_.by_left.size() + 1);
        RightStep* right = rights_.room(grammar_.by_right.size() + 1);
        for_touched([&](int32_t state) {
            const float score = std::exchange(best_[at(state)], impossible);
            *item++ = {state, score};
            if (const int32_t place = grammar_.place[at(state)]; place >= 0) {
                scores[place] = score;
                set_bit(ends_[static_cast<size_t>(end)], at(place));
            }
            for (const Step& step : grammar_.by_left[state]) {
                *left = {step.other, step.parent, step.score + score};
                left += has_bit(starts, step.other);
            }
            for (const Step& step : grammar_.by_right[state]) {
                *right = {step.other, step.parent, step.score, score};
                right += has_bit(ends, step.other);
            }
        });
        items_.grow_to(item);
        lefts_.grow_to(left);
        rights_.grow_to(right);
        std::fill(touched_.begin(), touched_.end(), 0);
        cells_.push_back({items_.size(), lefts_.size(), rights_.size()});
    }

    float score_of(int32_t state, int64_t begin, int64_t end) const {
        const size_t cell = cell_number(begin, end);
        const Item* const first = items_.data() + cells_[cell].items;
        const Item* const last = items_.data() + cells_[cell + 1].items;
        const Item* found = std::lower_bound(first, last, state, [](const Item& a, int32_t b) { return a.state < b; });
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

    const WholeGrammar& whole_;
    const UsableGrammar& grammar_;
    const size_t row_size_;
    const Sentence* sentence_ = nullptr;
    int64_t length_ = 0;

    std::vector<float> best_;        // of the cell at hand, per state
    Bits touched_;                   // per state: has a score in the cell at hand

    Pile<Item> items_;  // of all cells, ascending by state within a cell
    Pile<LeftStep> lefts_;
    Pile<RightStep> rights_;
    std::vector<Bits> starts_, ends_;  // places of a row whose states can begin (were found to end) there
    std::vector<Cell> cells_;
    std::vector<float> rows_;

    std::string text_;
};

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
        Chart chart(whole_, usable);
        for (int64_t c = first; c < last; ++c) {
            const Sentence sentence = sentence_of(c, usable);
            std::string& tree = trees[static_cast<size_t>(c)];
            if (sentence.length() == 0) continue;
            const float best = usable.root < 0 ? impossible : chart.fill(sentence);
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
            auto& bits = sentence.tag_bits.emplace_back(no_bits(whole_.first_tags[0].size() * 64));
            for (int64_t k = words_.offsets[word]; k < words_.offsets[word + 1]; ++k) {
                const int32_t state = usable.new_number[at(words_.states[k])];
                if (state < 0) continue;
                tags.push_back({state, words_.scores[k]});
                set_bit(bits, at(whole_.tag_number[at(words_.states[k])]));
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
            Chart chart(whole_, usable);
            const float best = chart.fill(sentence);
            if (best != impossible) tree = chart.tree(best);
        }
        return tree.empty() ? flat_tree(sentence.words) : tree;
    }

    const Captions& captions_;
    const WordTags& words_;
    const WholeGrammar& whole_;
};

void check(const WordTags& words, View<uint8_t> is_tag) {
    const int64_t states = is_tag.size;
    require(words.states.size == words.scores.size, "tags and tag_scores differ in length");
    check_offsets(words.offsets, words.states.size, "tag_offsets must rise from 0 to the number of tags");
    require(words.offsets.size == static_cast<int64_t>(words.spellings.size()) + 1, "tag_offsets and words differ");
    check_range(words.states, states, "tags must be states");
    for (const int32_t state : words.states) require(is_tag[state] != 0, "tags must be states that are tags");
    for (const float score : words.scores) require(std::isfinite(score), "tag_scores must be finite");
}

}  // namespace

std::vector<std::string> parse_captions(const Captions& captions, const WordTags& words, const GrammarRules& rules,
                                        int64_t max_tokens, int threads) {
    check(captions);
    check(rules);
    check(words, rules.is_tag);
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
