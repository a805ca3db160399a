// Heads of words from scores of arcs (the twin of capeval/engine/heads.py).
#pragma once

#include "common.hpp"

namespace capeval {

// Scores of the heads of all words: [words, words + 1].
struct ArcScores {
    std::vector<float> values;
    int64_t size = 0;

    float at(int64_t word, int64_t head) const { return values[static_cast<size_t>(word * (size + 1) + head)]; }
};

// The best tree without crossing arcs and with one word under the root: the head of word w is written to heads[w * step],
// 0 for the root.
void best_tree(const ArcScores& scores, int32_t* heads, int64_t step);

}  // namespace capeval
