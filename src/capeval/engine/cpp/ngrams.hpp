// Numbering n-grams, counting the reference sets they occur in, and finding them in a table.
#pragma once

#include "common.hpp"

namespace capeval {

struct NgramCounts {
    Buffer<int32_t> ids;
    Buffer<int32_t> counts;
    Buffer<int64_t> offsets;
    Buffer<int32_t> grams;  // n tokens per gram, padded with -1
};

NgramCounts ngrams(const Captions& captions, int n, int threads);

Buffer<int32_t> document_frequency(View<int32_t> ids, View<int64_t> gram_offsets, int n, const ReferenceSets& sets,
                                   int64_t size, int threads);

}  // namespace capeval
