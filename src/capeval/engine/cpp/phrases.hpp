// Phrases of METEOR's paraphrase table in captions (the twin of capeval/engine/phrases.py).
#pragma once

#include "common.hpp"

namespace capeval {

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

}  // namespace capeval
