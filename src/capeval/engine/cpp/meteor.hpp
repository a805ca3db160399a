// The statistics of METEOR (the twin of capeval/engine/meteor.py).
#pragma once

#include "alignment.hpp"

namespace capeval {

constexpr int64_t meteor_columns = 21;

// `parameters`: alpha, beta, gamma, delta and the weights of the four modules.
Buffer<double> meteor_stats(const Captions& captions, const MeteorWords& words, const MeteorPhrases& phrases,
                            View<double> parameters, const Rows& rows, int threads);

}  // namespace capeval
