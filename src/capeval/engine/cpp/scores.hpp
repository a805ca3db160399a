// The statistics of BLEU, ROUGE-L and CIDEr, row by row.
#pragma once

#include "common.hpp"

namespace capeval {

// Columns: correct_1..n, guess_1..n, candidate length, closest reference length.
Buffer<double> bleu_stats(const Grams& grams, View<int64_t> offsets, const Rows& rows, int threads);

// Columns: best precision, best recall.
Buffer<double> rouge_stats(const Captions& captions, const Rows& rows, int threads);

// Column k - 1: mean similarity to the references in n-grams of order k.
Buffer<double> cider_stats(const Grams& grams, View<double> idf, const Rows& rows, bool clip, double sigma,
                           int threads);

}  // namespace capeval
