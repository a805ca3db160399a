// Word Mover's Distance: the cheapest way to turn one bag of words into another.
#pragma once

#include "common.hpp"

namespace capeval {

// The amounts to move from each supplier (row) to each customer (column) so that the total cost is least.
Buffer<int64_t> transport(View<double> cost, View<int64_t> supply, View<int64_t> demand);

// Per row: exp(-distance) to the closest reference, or its mean over the references. `bags` are n-grams of order 1;
// word i is at vectors[i * dimensions].
Buffer<double> wmd_stats(const Grams& bags, View<float> vectors, int64_t dimensions, const Rows& rows, bool best,
                         int threads);

}  // namespace capeval
