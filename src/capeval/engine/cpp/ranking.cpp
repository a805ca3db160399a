#include "ranking.hpp"

#include <numeric>

namespace capeval {
namespace {

// Resamples that are measured side by side, in one walk through the rows: their weights of a row lie next to each other,
// and the loops over them become vector code. Counts are doubles, which are exact up to 2^53.
constexpr int lanes = 8;

struct Lanes {
    double at[lanes] = {};
};

inline void add(Lanes& sum, const Lanes& other) {
    for (int i = 0; i < lanes; ++i) sum.at[i] += other.at[i];
}

inline void add_pairs(Lanes& sum, const Lanes& count) {
    for (int i = 0; i < lanes; ++i) sum.at[i] += count.at[i] * (count.at[i] - 1) / 2;
}

// Totals of what was put at each place, for all places up to one, in logarithmic time (a Fenwick tree).
class RunningTotals {
public:
    explicit RunningTotals(int64_t size) : sums_(static_cast<size_t>(size) + 1) {}

    void clear() { std::fill(sums_.begin(), sums_.end(), Lanes{}); }

    void put(int64_t place, const Lanes& amount) {
        const auto size = static_cast<int64_t>(sums_.size());
        for (int64_t at = place + 1; at < size; at += at & -at) add(sums_[at], amount);
    }

    Lanes up_to(int64_t place) const {
        Lanes sum;
        for (int64_t at = place + 1; at > 0; at -= at & -at) add(sum, sums_[at]);
        return sum;
    }

private:
    std::vector<Lanes> sums_;
};

// What is summed over the values of one variable, value by value in their order.
struct Totals {
    Lanes before, ties, values, square;

    // Takes the weight of the next value, and gives twice its mid-rank, less twice the mean rank.
    Lanes next(const Lanes& own, const Lanes& rows) {
        Lanes rank;
        for (int i = 0; i < lanes; ++i) {
            rank.at[i] = 2 * before.at[i] + own.at[i] - rows.at[i];
            square.at[i] += own.at[i] * rank.at[i] * rank.at[i];
            values.at[i] += own.at[i] > 0 ? 1.0 : 0.0;
        }
        add_pairs(ties, own);
        add(before, own);
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
        const auto groups = static_cast<int64_t>(weights_.size());
        for (int64_t g = 0; g < groups; ++g) {
            for (int i = 0; i < lanes; ++i) weights_[g].at[i] = i < count ? weights[i * groups + g] : 0;
        }
        Lanes rows;
        std::fill(rank_y_.begin(), rank_y_.end(), Lanes{});
        for (size_t row = 0; row < sorted_.rows(); ++row) {
            add(rank_y_[sorted_.y[row]], weights_[sorted_.group[row]]);
            add(rows, weights_[sorted_.group[row]]);
        }
        Totals x, y;
        for (Lanes& own : rank_y_) own = y.next(own, rows);
        Lanes ties_both, discordant, product;
        seen_.clear();
        for (size_t begin = 0; begin < sorted_.rows();) {
            size_t end = begin;
            Lanes own;
            for (; end < sorted_.rows() && sorted_.x[end] == sorted_.x[begin]; ++end) {
                add(own, weights_[sorted_.group[end]]);
            }
            const Lanes seen = x.before, rank_x = x.next(own, rows);
            Lanes same;  // of the rows with the same x and y
            for (size_t row = begin; row < end; ++row) {
                if (row > begin && sorted_.y[row] != sorted_.y[row - 1]) {
                    add_pairs(ties_both, same);
                    same = Lanes{};
                }
                const Lanes& weight = weights_[sorted_.group[row]];
                const Lanes& rank_y = rank_y_[sorted_.y[row]];
                const Lanes below = seen_.up_to(sorted_.y[row]);
                add(same, weight);
                for (int i = 0; i < lanes; ++i) {
                    discordant.at[i] += weight.at[i] * (seen.at[i] - below.at[i]);
                    product.at[i] += weight.at[i] * rank_x.at[i] * rank_y.at[i];
                }
            }
            add_pairs(ties_both, same);
            for (size_t row = begin; row < end; ++row) seen_.put(sorted_.y[row], weights_[sorted_.group[row]]);
            begin = end;
        }
        for (int i = 0; i < count; ++i) {
            const double untied = rows.at[i] * (rows.at[i] - 1) / 2 - x.ties.at[i] - y.ties.at[i] + ties_both.at[i];
            const double found[rank_columns] = {rows.at[i],     untied - 2 * discordant.at[i],
                                                x.ties.at[i],   y.ties.at[i],
                                                x.values.at[i], y.values.at[i],
                                                product.at[i],  x.square.at[i],
                                                y.square.at[i]};
            std::copy(found, found + rank_columns, stats + i * rank_columns);
        }
    }

private:
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
