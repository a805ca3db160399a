#include "ranking.hpp"

#include <numeric>

namespace capeval {
namespace {

constexpr int64_t resamples_per_block = 8;

// Totals of what was put at each place, for all places up to one, in logarithmic time (a Fenwick tree).
class RunningTotals {
public:
    explicit RunningTotals(int64_t size) : sums_(static_cast<size_t>(size) + 1) {}

    void clear() { std::fill(sums_.begin(), sums_.end(), 0); }

    void add(int64_t place, int64_t amount) {
        const auto size = static_cast<int64_t>(sums_.size());
        for (int64_t at = place + 1; at < size; at += at & -at) sums_[at] += amount;
    }

    int64_t up_to(int64_t place) const {
        int64_t sum = 0;
        for (int64_t at = place + 1; at > 0; at -= at & -at) sum += sums_[at];
        return sum;
    }

private:
    std::vector<int64_t> sums_;
};

int64_t pairs(int64_t count) { return count * (count - 1) / 2; }

// The weight of each value of one variable in a resample.
struct Totals {
    std::vector<int64_t> weight;
    std::vector<double> centred_rank;
    int64_t ties = 0;
    int64_t values = 0;
    double square = 0;

    explicit Totals(int64_t size) : weight(size), centred_rank(size) {}

    void finish(int64_t rows) {
        int64_t before = 0;
        ties = values = 0;
        square = 0;
        for (size_t value = 0; value < weight.size(); ++value) {
            const int64_t own = weight[value];
            const auto rank = static_cast<double>(2 * before + own - rows);  // twice the mid-rank, less its mean
            centred_rank[value] = rank;
            square += static_cast<double>(own) * rank * rank;
            ties += pairs(own);
            values += own > 0;
            before += own;
        }
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

class Resample {
public:
    explicit Resample(const Sorted& sorted)
        : sorted_(sorted), total_x_(sorted.size_x), total_y_(sorted.size_y), seen_(sorted.size_y) {}

    void measure(const int32_t* weights, double* stats) {
        const int64_t rows = count(weights);
        int64_t ties_both = 0, discordant = 0;
        double product = 0;
        seen_.clear();
        int64_t seen = 0;
        for (size_t begin = 0; begin < sorted_.rows();) {
            size_t end = begin;
            int64_t class_weight = 0, pair_weight = 0;
            for (; end < sorted_.rows() && sorted_.x[end] == sorted_.x[begin]; ++end) {
                if (end > begin && sorted_.y[end] != sorted_.y[end - 1]) {
                    ties_both += pairs(pair_weight);
                    pair_weight = 0;
                }
                const int64_t weight = weights[sorted_.group[end]];
                if (weight == 0) continue;
                const int32_t y = sorted_.y[end];
                pair_weight += weight;
                class_weight += weight;
                discordant += weight * (seen - seen_.up_to(y));
                product += static_cast<double>(weight) * total_x_.centred_rank[sorted_.x[end]] *
                           total_y_.centred_rank[y];
            }
            ties_both += pairs(pair_weight);
            for (size_t row = begin; row < end; ++row) {
                const int64_t weight = weights[sorted_.group[row]];
                if (weight > 0) seen_.add(sorted_.y[row], weight);
            }
            seen += class_weight;
            begin = end;
        }
        const int64_t untied = pairs(rows) - total_x_.ties - total_y_.ties + ties_both;
        const double found[rank_columns] = {
            static_cast<double>(rows),            static_cast<double>(untied - 2 * discordant),
            static_cast<double>(total_x_.ties),   static_cast<double>(total_y_.ties),
            static_cast<double>(total_x_.values), static_cast<double>(total_y_.values),
            product,                              total_x_.square,
            total_y_.square};
        std::copy(found, found + rank_columns, stats);
    }

private:
    int64_t count(const int32_t* weights) {
        std::fill(total_x_.weight.begin(), total_x_.weight.end(), 0);
        std::fill(total_y_.weight.begin(), total_y_.weight.end(), 0);
        int64_t rows = 0;
        for (size_t row = 0; row < sorted_.rows(); ++row) {
            const int64_t weight = weights[sorted_.group[row]];
            total_x_.weight[sorted_.x[row]] += weight;
            total_y_.weight[sorted_.y[row]] += weight;
            rows += weight;
        }
        total_x_.finish(rows);
        total_y_.finish(rows);
        return rows;
    }

    const Sorted& sorted_;
    Totals total_x_, total_y_;
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
    for_blocks(resamples, resamples_per_block, threads, [&](int64_t begin, int64_t end) {
        Resample resample(sorted);
        for (int64_t r = begin; r < end; ++r) resample.measure(weights.data + r * groups, stats.data() + r * rank_columns);
    });
    return stats;
}

}  // namespace capeval
