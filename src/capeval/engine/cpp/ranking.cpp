#include "ranking.hpp"

#include <functional>
#include <numeric>

#include "avx2.hpp"

namespace capeval {
namespace {

// Resamples that are measured side by side, in one walk through the rows: their weights of a row lie next to each other,
// four in a vector. Counts are doubles, which are exact up to 2^53, so that no sum depends on the machine.
constexpr int lanes = 8;

#if defined(__GNUC__)
typedef double Four __attribute__((vector_size(32), aligned(8), may_alias));

CAPEVAL_INLINE void count_positive(Four& sum, const Four& a) { sum = sum + (a > 0 ? Four{1, 1, 1, 1} : Four{}); }
#else
struct Four {
    double at[4] = {};
    double operator[](int i) const { return at[i]; }
    double& operator[](int i) { return at[i]; }
};

template <class Operation>
Four each(const Four& a, const Four& b, const Operation& of) {
    return {of(a[0], b[0]), of(a[1], b[1]), of(a[2], b[2]), of(a[3], b[3])};
}

inline Four operator+(const Four& a, const Four& b) { return each(a, b, std::plus<double>()); }
inline Four operator-(const Four& a, const Four& b) { return each(a, b, std::minus<double>()); }
inline Four operator*(const Four& a, const Four& b) { return each(a, b, std::multiplies<double>()); }
inline void count_positive(Four& sum, const Four& a) {
    sum = each(sum, a, [](double count, double value) { return value > 0 ? count + 1 : count; });
}
#endif

struct Lanes {
    Four low = {}, high = {};

    double at(int i) const { return i < 4 ? low[i] : high[i - 4]; }
    void set(int i, double value) { (i < 4 ? low[i] : high[i - 4]) = value; }
    CAPEVAL_INLINE void operator+=(const Lanes& other) {
        low = low + other.low;
        high = high + other.high;
    }
};

CAPEVAL_INLINE Lanes operator+(const Lanes& a, const Lanes& b) { return {a.low + b.low, a.high + b.high}; }
CAPEVAL_INLINE Lanes operator-(const Lanes& a, const Lanes& b) { return {a.low - b.low, a.high - b.high}; }
CAPEVAL_INLINE Lanes operator*(const Lanes& a, const Lanes& b) { return {a.low * b.low, a.high * b.high}; }

// Twice the pairs among so many, ordered ones: whole numbers without a division.
CAPEVAL_INLINE Lanes ordered_pairs(const Lanes& count) { return count * count - count; }

// Totals of what was put at each place, for all places up to one, in logarithmic time (a Fenwick tree).
class RunningTotals {
public:
    explicit RunningTotals(int64_t size) : sums_(static_cast<size_t>(size) + 1) {}

    void clear() { std::fill(sums_.begin(), sums_.end(), Lanes{}); }

    CAPEVAL_INLINE void put(int64_t place, const Lanes& amount) {
        const auto size = static_cast<int64_t>(sums_.size());
        for (int64_t at = place + 1; at < size; at += at & -at) sums_[at] += amount;
    }

    CAPEVAL_INLINE Lanes up_to(int64_t place) const {
        Lanes sum;
        for (int64_t at = place + 1; at > 0; at -= at & -at) sum += sums_[at];
        return sum;
    }

private:
    std::vector<Lanes> sums_;
};

// What is summed over the values of one variable, value by value in their order.
struct Totals {
    Lanes before, ordered_ties, values, square;

    // Takes the weight of the next value, and gives twice its mid-rank, less twice the mean rank.
    CAPEVAL_INLINE Lanes next(const Lanes& own, const Lanes& rows) {
        const Lanes rank = before + before + own - rows;
        square += own * rank * rank;
        count_positive(values.low, own.low);
        count_positive(values.high, own.high);
        ordered_ties += ordered_pairs(own);
        before += own;
        return rank;
    }
};

// Rows sorted by x, then y, so that a resample takes one walk through them.
struct Sorted {
    std::vector<int32_t> x, y, group;
    int64_t size_x = 0, size_y = 0;

    Sorted(View<int32_t> xs, View<int32_t> ys, View<int32_t> groups) {
        std::vector<int64_t> order(xs.size);
        std::iota(order.begin(), order.end(), 0);
        std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
            return xs[a] != xs[b] ? xs[a] < xs[b] : ys[a] < ys[b];
        });
        for (const int64_t row : order) {
            x.push_back(xs[row]);
            y.push_back(ys[row]);
            group.push_back(groups[row]);
            size_x = std::max<int64_t>(size_x, xs[row] + 1);
            size_y = std::max<int64_t>(size_y, ys[row] + 1);
        }
    }

    size_t rows() const { return x.size(); }
};

class Resamples {
public:
    Resamples(const Sorted& sorted, int64_t groups)
        : sorted_(sorted), weights_(groups), rank_y_(sorted.size_y), seen_(sorted.size_y) {}

    // Of up to `lanes` resamples; those that are missing count as empty ones.
    void measure(const int32_t* weights, int count, double* stats) {
#if CAPEVAL_X86
        if (has_avx2()) return measure_avx2(weights, count, stats);
#endif
        measure_here(weights, count, stats);
    }

private:
#if CAPEVAL_X86
    CAPEVAL_AVX2 void measure_avx2(const int32_t* weights, int count, double* stats) {
        measure_here(weights, count, stats);
    }
#endif

    CAPEVAL_INLINE void measure_here(const int32_t* weights, int count, double* stats) {
        const auto groups = static_cast<int64_t>(weights_.size());
        for (int64_t g = 0; g < groups; ++g) {
            for (int i = 0; i < lanes; ++i) weights_[g].set(i, i < count ? weights[i * groups + g] : 0);
        }
        Lanes rows;
        std::fill(rank_y_.begin(), rank_y_.end(), Lanes{});
        for (size_t row = 0; row < sorted_.rows(); ++row) rank_y_[sorted_.y[row]] += weights_[sorted_.group[row]];
        for (const Lanes& own : rank_y_) rows += own;
        Totals x, y;
        for (Lanes& own : rank_y_) own = y.next(own, rows);
        Lanes ordered_ties_both, discordant, product;
        seen_.clear();
        for (size_t begin = 0; begin < sorted_.rows();) {
            size_t end = begin;
            Lanes own;
            for (; end < sorted_.rows() && sorted_.x[end] == sorted_.x[begin]; ++end) {
                own += weights_[sorted_.group[end]];
            }
            const Lanes seen = x.before, rank_x = x.next(own, rows);
            Lanes same;  // of the rows with the same x and y
            for (size_t row = begin; row < end; ++row) {
                if (row > begin && sorted_.y[row] != sorted_.y[row - 1]) {
                    ordered_ties_both += ordered_pairs(same);
                    same = Lanes{};
                }
                const Lanes& weight = weights_[sorted_.group[row]];
                same += weight;
                discordant += weight * (seen - seen_.up_to(sorted_.y[row]));
                product += weight * rank_x * rank_y_[sorted_.y[row]];
            }
            ordered_ties_both += ordered_pairs(same);
            for (size_t row = begin; row < end; ++row) seen_.put(sorted_.y[row], weights_[sorted_.group[row]]);
            begin = end;
        }
        for (int i = 0; i < count; ++i) {
            const double n = rows.at(i), ties_x = x.ordered_ties.at(i) / 2, ties_y = y.ordered_ties.at(i) / 2;
            const double untied = n * (n - 1) / 2 - ties_x - ties_y + ordered_ties_both.at(i) / 2;
            const double found[rank_columns] = {n,
                                                untied - 2 * discordant.at(i),
                                                ties_x,
                                                ties_y,
                                                x.values.at(i),
                                                y.values.at(i),
                                                product.at(i),
                                                x.square.at(i),
                                                y.square.at(i)};
            std::copy(found, found + rank_columns, stats + i * rank_columns);
        }
    }

    const Sorted& sorted_;
    std::vector<Lanes> weights_;
    std::vector<Lanes> rank_y_;  // first the weight of each value of y
    RunningTotals seen_;
};

}  // namespace

Buffer<double> rank_stats(View<int32_t> x, View<int32_t> y, View<int32_t> group, View<int32_t> weights,
                          int64_t resamples, int64_t groups, int threads) {
    check_threads(threads);
    require(x.size == y.size && y.size == group.size, "x, y and group differ in length");
    check_range(x, x.size, "x must number the values from 0");
    check_range(y, y.size, "y must number the values from 0");
    check_range(group, groups, "group must hold columns of weights");
    check_range(weights, int64_t{INT32_MAX} + 1, "weights must not be negative");
    const Sorted sorted(x, y, group);
    Buffer<double> stats(resamples * rank_columns);
    for_blocks(resamples, lanes, threads, [&](int64_t begin, int64_t end) {
        Resamples(sorted, groups)
            .measure(weights.data + begin * groups, static_cast<int>(end - begin), stats.data() + begin * rank_columns);
    });
    return stats;
}

}  // namespace capeval
