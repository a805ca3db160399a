// Agreement of two rankings under many resamples of groups of rows.
#pragma once

#include "common.hpp"

namespace capeval {

constexpr int rank_columns = 9;

// Per resample: rows, concordant minus discordant pairs, pairs tied in x and in y, how many values of x and y, and sums
// of products and squares of twice the centred mid-ranks. weights[r * groups + g] says how often group g was drawn.
Buffer<double> rank_stats(View<int32_t> x, View<int32_t> y, View<int32_t> group, View<int32_t> weights,
                          int64_t resamples, int64_t groups, int threads);

}  // namespace capeval
