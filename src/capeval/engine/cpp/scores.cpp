#include "scores.hpp"

#include <bitset>
#include <cmath>

namespace capeval {
namespace {

constexpr int64_t rows_per_block = 256;

// Calls visit(i, j) where ids[i] == ids[j], i and j in the two ascending slices, in ascending order of id.
template <class Visit>
void for_common(View<int32_t> ids, int64_t i, int64_t i_end, int64_t j, int64_t j_end, const Visit& visit) {
    while (i < i_end && j < j_end) {
        const int32_t a = ids[i], b = ids[j];
        if (a == b) visit(i, j);
        i += a <= b;
        j += b <= a;
    }
}

// Of equally close lengths the shorter one counts.
int64_t closest_length(int64_t length, View<int32_t> references, View<int64_t> offsets) {
    int64_t best = 0, best_distance = INT64_MAX;
    for (int32_t reference : references) {
        const int64_t other = offsets[reference + 1] - offsets[reference];
        const int64_t distance = std::abs(other - length);
        if (distance < best_distance || (distance == best_distance && other < best)) {
            best = other;
            best_distance = distance;
        }
    }
    return best;
}

// For each word of a caption, the positions it stands at, as bits; and from that the longest common subsequence with
// another caption, a machine word of positions at a time (bit-vector algorithm of Crochemore et al. 2001).
class WordPositions {
public:
    void set(const int32_t* tokens, int64_t length) {
        machine_words_ = (length + 63) / 64;
        int bits = 3;
        while ((int64_t{1} << bits) < 2 * length) ++bits;
        shift_ = 32 - bits;
        slots_.assign(int64_t{1} << bits, -1);
        words_.clear();
        positions_.clear();
        for (int64_t i = 0; i < length; ++i) {
            const int64_t at = find(tokens[i]);
            if (slots_[at] < 0) {
                slots_[at] = static_cast<int32_t>(words_.size());
                words_.push_back(tokens[i]);
                positions_.resize(positions_.size() + machine_words_, 0);
            }
            positions_[slots_[at] * machine_words_ + i / 64] |= uint64_t{1} << (i % 64);
        }
    }

    int64_t longest_common_subsequence(const int32_t* tokens, int64_t length) {
        // A zero bit marks a position where the subsequence found so far grew by one.
        state_.assign(machine_words_, ~uint64_t{0});
        for (int64_t i = 0; i < length; ++i) {
            const int32_t word = slots_[find(tokens[i])];
            if (word >= 0) advance(&positions_[word * machine_words_]);
        }
        int64_t common = 0;
        for (uint64_t bits : state_) common += std::bitset<64>(~bits).count();
        return common;
    }

private:
    int64_t find(int32_t token) const {
        const int64_t mask = static_cast<int64_t>(slots_.size()) - 1;
        int64_t at = static_cast<uint32_t>(token) * 0x9E3779B9u >> shift_;
        while (slots_[at] >= 0 && words_[slots_[at]] != token) at = (at + 1) & mask;
        return at;
    }

    void advance(const uint64_t* positions) {
        uint64_t carry = 0;
        for (int64_t w = 0; w < machine_words_; ++w) {
            const uint64_t state = state_[w], hit = state & positions[w];
            const uint64_t partial = state + hit, sum = partial + carry;
            carry = (partial < state) | (sum < partial);
            state_[w] = sum | (state & ~hit);
        }
    }

    int shift_ = 0;
    int64_t machine_words_ = 0;
    std::vector<int32_t> slots_;  // index in words_, or -1
    std::vector<int32_t> words_;
    std::vector<uint64_t> positions_;
    std::vector<uint64_t> state_;
};

// Length of each caption's tf-idf vector, order by order.
Buffer<double> norms_of(const Grams& grams, View<double> idf, int threads) {
    Buffer<double> norms(grams.captions() * grams.n);
    for_blocks(norms.size(), 4096, threads, [&](int64_t first, int64_t last) {
        for (int64_t slice = first; slice < last; ++slice) {
            double squares = 0;
            for (int64_t i = grams.offsets[slice]; i < grams.offsets[slice + 1]; ++i) {
                const double weight = grams.counts[i] * idf[grams.ids[i]];
                squares += weight * weight;
            }
            norms[slice] = std::sqrt(squares);
        }
    });
    return norms;
}

int64_t count_bigrams(const Grams& grams, int64_t caption) {
    if (grams.n < 2) return 0;
    int64_t total = 0;
    for (int64_t i = grams.begin(caption, 2); i < grams.end(caption, 2); ++i) total += grams.counts[i];
    return total;
}

}  // namespace

Buffer<double> bleu_stats(const Grams& grams, View<int64_t> offsets, const Rows& rows, int threads) {
    check_threads(threads);
    check(grams);
    require(offsets.size == grams.captions() + 1, "offsets and gram_offsets disagree on the number of captions");
    require(std::is_sorted(offsets.begin(), offsets.end()), "offsets must rise");
    check(rows, grams.captions());

    const int n = grams.n, width = 2 * n + 2;
    Buffer<double> result(rows.count() * width);
    for_blocks(rows.count(), rows_per_block, threads, [&](int64_t first, int64_t last) {
        std::vector<int32_t> correct;
        for (int64_t row = first; row < last; ++row) {
            const int64_t caption = rows.candidate[row];
            const int64_t begin = grams.begin(caption);
            correct.assign(grams.end(caption) - begin, 0);
            for (int32_t reference : rows.references(row)) {
                for (int k = 1; k <= n; ++k) {
                    for_common(grams.ids, grams.begin(caption, k), grams.end(caption, k), grams.begin(reference, k),
                               grams.end(reference, k), [&](int64_t i, int64_t j) {
                                   const int32_t clipped = std::min(grams.counts[i], grams.counts[j]);
                                   correct[i - begin] = std::max(correct[i - begin], clipped);
                               });
                }
            }
            const int64_t length = offsets[caption + 1] - offsets[caption];
            double* out = &result[row * width];
            for (int k = 1; k <= n; ++k) {
                int64_t total = 0;
                for (int64_t i = grams.begin(caption, k); i < grams.end(caption, k); ++i) total += correct[i - begin];
                out[k - 1] = static_cast<double>(total);
                out[n + k - 1] = static_cast<double>(std::max<int64_t>(0, length - k + 1));
            }
            out[2 * n] = static_cast<double>(length);
            out[2 * n + 1] = static_cast<double>(closest_length(length, rows.references(row), offsets));
        }
    });
    return result;
}

Buffer<double> rouge_stats(const Captions& captions, const Rows& rows, int threads) {
    check_threads(threads);
    check(captions);
    check(rows, captions.count());

    Buffer<double> result(rows.count() * 2);
    for_blocks(rows.count(), rows_per_block, threads, [&](int64_t first, int64_t last) {
        WordPositions candidate;
        for (int64_t row = first; row < last; ++row) {
            const int64_t caption = rows.candidate[row];
            const int64_t length = captions.length(caption);
            candidate.set(captions.begin(caption), length);
            double precision = 0, recall = 0;
            for (int32_t reference : rows.references(row)) {
                const int64_t other = captions.length(reference);
                if (length == 0 || other == 0) continue;
                const auto common = static_cast<double>(
                    candidate.longest_common_subsequence(captions.begin(reference), other));
                precision = std::max(precision, common / static_cast<double>(length));
                recall = std::max(recall, common / static_cast<double>(other));
            }
            result[row * 2] = precision;
            result[row * 2 + 1] = recall;
        }
    });
    return result;
}

Buffer<double> cider_stats(const Grams& grams, View<double> idf, const Rows& rows, bool clip, double sigma,
                           int threads) {
    check_threads(threads);
    check(grams);
    check(rows, grams.captions());
    check_range(grams.ids, idf.size, "ids must be below the length of idf");
    require(2 * sigma * sigma > 0, "sigma must be positive");

    const int n = grams.n;
    Buffer<double> norms = norms_of(grams, idf, threads);
    Buffer<double> result(rows.count() * n);
    for_blocks(rows.count(), rows_per_block, threads, [&](int64_t first, int64_t last) {
        for (int64_t row = first; row < last; ++row) {
            const int64_t caption = rows.candidate[row];
            const View<int32_t> references = rows.references(row);
            const int64_t bigrams = count_bigrams(grams, caption);
            double* out = &result[row * n];
            std::fill(out, out + n, 0.0);
            for (int32_t reference : references) {
                // Inherited quirk: the length the penalty compares is the number of bigrams, not of words.
                const auto delta = static_cast<double>(bigrams - count_bigrams(grams, reference));
                const double penalty = std::exp(-(delta * delta) / (2 * sigma * sigma));
                for (int k = 1; k <= n; ++k) {
                    double product = 0;
                    for_common(grams.ids, grams.begin(caption, k), grams.end(caption, k), grams.begin(reference, k),
                               grams.end(reference, k), [&](int64_t i, int64_t j) {
                                   const double weight = idf[grams.ids[i]];
                                   const double ours = grams.counts[i] * weight, theirs = grams.counts[j] * weight;
                                   product += (clip ? std::min(ours, theirs) : ours) * theirs;
                               });
                    const double scale = norms[caption * n + k - 1] * norms[reference * int64_t{n} + k - 1];
                    if (scale != 0) product /= scale;
                    out[k - 1] += product * penalty;
                }
            }
            if (references.size > 0) {
                for (int k = 0; k < n; ++k) out[k] /= static_cast<double>(references.size);
            }
        }
    });
    return result;
}

}  // namespace capeval
