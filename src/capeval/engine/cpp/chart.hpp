// Best trees of a probabilistic context-free grammar, by a chart over all spans.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common.hpp"

namespace capeval {

// Rules as the grammar's file orders them; a state is a row of `labels`. Scores are log probabilities.
struct GrammarRules {
    View<int32_t> binary;  // [rules, 3]: parent, left child, right child
    View<float> binary_scores;
    View<int32_t> unary;  // [rules, 2]: parent, child
    View<float> unary_scores;
    View<uint8_t> is_tag;  // per state: stands over a word
    std::vector<std::string_view> labels;  // what the tree shows; empty: the state is left out, its children move up
    int32_t root = 0;
    int32_t end = 0;  // the state over the end symbol

    int64_t states() const { return static_cast<int64_t>(labels.size()); }
};

// The tags of word w are states[offsets[w]] .. states[offsets[w + 1]], with their scores.
struct WordTags {
    View<int64_t> offsets;
    View<int32_t> states;
    View<float> scores;
    std::vector<std::string_view> spellings;
};

// One bracketed tree for each caption; captions must not be longer than max_tokens.
std::vector<std::string> parse_captions(const Captions& captions, const WordTags& words, const GrammarRules& rules,
                                        int64_t max_tokens, int threads);

}  // namespace capeval
