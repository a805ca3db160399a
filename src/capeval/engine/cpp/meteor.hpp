// METEOR's alignment of candidates with references (the twin of capeval/engine/alignment.py).
#pragma once

#include "common.hpp"

namespace capeval {

constexpr int64_t meteor_columns = 21;

// The tree of phrases and their paraphrases; see capeval.text.paraphrase.
struct PhraseTable {
    View<int32_t> child_start;
    View<int32_t> last_word;
    View<int32_t> pair_start;
    View<int32_t> paraphrases;

    int64_t nodes() const { return last_word.size; }
};

struct FoundPhrases {
    Buffer<int32_t> starts;
    Buffer<int32_t> lengths;
    Buffer<int32_t> phrases;
    Buffer<int64_t> offsets;
    Buffer<int32_t> links;
    Buffer<int64_t> link_offsets;
};

FoundPhrases find_phrases(const Captions& captions, View<int32_t> table_words, const PhraseTable& table, int threads);

// What is known of each distinct word.
struct MeteorWords {
    View<int32_t> keys;
    View<int32_t> stems;
    View<uint8_t> is_function;
    View<int32_t> synsets;
    View<int64_t> synset_offsets;
};

// Phrases of the paraphrase table in each caption, and the paraphrases of each phrase.
struct MeteorPhrases {
    View<int32_t> starts;
    View<int32_t> lengths;
    View<int32_t> phrases;
    View<int64_t> offsets;
    View<int32_t> links;
    View<int64_t> link_offsets;
};

// `parameters`: alpha, beta, gamma, delta and the weights of the four modules.
Buffer<double> meteor_stats(const Captions& captions, const MeteorWords& words, const MeteorPhrases& phrases,
                            View<double> parameters, const Rows& rows, int threads);

}  // namespace capeval
