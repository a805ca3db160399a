#include "transport.hpp"

#include <cmath>
#include <limits>

namespace capeval {
namespace {

constexpr int64_t rows_per_block = 64;
constexpr int64_t max_total = int64_t{1} << 62;
constexpr double far_away = std::numeric_limits<double>::infinity();

// One problem after another in the same memory. The method is that of the Python twin: send goods along the cheapest
// path, with prices that keep Dijkstra's search valid, until nothing is left.
class Solver {
public:
    // To be filled by the caller: cost[i * customers + j].
    std::vector<double> cost;
    // After solve(): what goes where, in the layout of cost.
    std::vector<int64_t> flow;

    // The least total cost; or infinity as soon as it is clear that it is at least `limit`.
    double solve(const std::vector<int64_t>& supply, const std::vector<int64_t>& demand, double limit = far_away) {
        start(supply, demand);
        for (int64_t first = 0; first < suppliers_; ++first) {
            while (left_[first] > 0) {
                const int64_t last = find_path(first);
                if (limit < far_away && bound(supply, demand) >= limit) return far_away;
                send(last);
            }
        }
        double total = 0;
        for (size_t at = 0; at < cost.size(); ++at) total += static_cast<double>(flow[at]) * cost[at];
        return total;
    }

private:
    void start(const std::vector<int64_t>& supply, const std::vector<int64_t>& demand) {
        suppliers_ = static_cast<int64_t>(supply.size());
        customers_ = static_cast<int64_t>(demand.size());
        left_ = supply;
        wanted_ = demand;
        flow.assign(cost.size(), 0);
        from_price_.assign(suppliers_, 0);
        to_price_.assign(customers_, far_away);
        for (int64_t i = 0; i < suppliers_; ++i)
            for (int64_t j = 0; j < customers_; ++j) to_price_[j] = std::min(to_price_[j], cost[i * customers_ + j]);
        supplied_by_.resize(customers_);
        reached_through_.resize(suppliers_);
    }

    // What the goods gain in price on their way. No move gains more than it costs, so all cost at least that much.
    double bound(const std::vector<int64_t>& supply, const std::vector<int64_t>& demand) const {
        double gain = 0;
        for (int64_t j = 0; j < customers_; ++j) gain += to_price_[j] * static_cast<double>(demand[j]);
        for (int64_t i = 0; i < suppliers_; ++i) gain -= from_price_[i] * static_cast<double>(supply[i]);
        return gain;
    }

    // Dijkstra's search over customers, from a supplier with goods left to the nearest customer who wants some. Goods
    // can be taken back at no detour, so the suppliers of a customer are as far as the customer is.
    int64_t find_path(int64_t first) {
        length_to_.assign(customers_, far_away);
        length_from_.assign(suppliers_, far_away);
        done_.assign(customers_, 0);
        reach(first, 0, -1);
        int64_t nearest = next_customer();
        while (wanted_[nearest] == 0) {
            done_[nearest] = 1;
            for (int64_t i = 0; i < suppliers_; ++i)
                if (flow[i * customers_ + nearest] > 0 && length_from_[i] == far_away)
                    reach(i, length_to_[nearest], nearest);
            nearest = next_customer();
        }
        const double end = length_to_[nearest];
        for (int64_t i = 0; i < suppliers_; ++i) from_price_[i] += std::min(length_from_[i], end);
        for (int64_t j = 0; j < customers_; ++j) to_price_[j] += std::min(length_to_[j], end);
        return nearest;
    }

    void reach(int64_t i, double length, int64_t through) {
        length_from_[i] = length;
        reached_through_[i] = through;
        const double* ways = &cost[i * customers_];
        // Those that are done are not farther than `length`, so they stay as they are.
        for (int64_t j = 0; j < customers_; ++j) {
            const double detour = std::max(0.0, ways[j] + from_price_[i] - to_price_[j]);
            if (length + detour < length_to_[j]) {
                length_to_[j] = length + detour;
                supplied_by_[j] = i;
            }
        }
    }

    int64_t next_customer() const {
        int64_t nearest = -1;
        for (int64_t j = 0; j < customers_; ++j)
            if (!done_[j] && (nearest < 0 || length_to_[j] < length_to_[nearest])) nearest = j;
        return nearest;
    }

    // Sends as much as the path to customer `last` takes.
    void send(int64_t last) {
        int64_t amount = wanted_[last];
        for (int64_t j = last; j >= 0;) {
            const int64_t i = supplied_by_[j], back = reached_through_[i];
            amount = std::min(amount, back < 0 ? left_[i] : flow[i * customers_ + back]);
            j = back;
        }
        wanted_[last] -= amount;
        for (int64_t j = last; j >= 0;) {
            const int64_t i = supplied_by_[j], back = reached_through_[i];
            flow[i * customers_ + j] += amount;
            (back < 0 ? left_[i] : flow[i * customers_ + back]) -= amount;
            j = back;
        }
    }

    int64_t suppliers_ = 0, customers_ = 0;
    std::vector<int64_t> left_, wanted_;
    std::vector<double> from_price_, to_price_, length_from_, length_to_;
    std::vector<int64_t> supplied_by_, reached_through_;
    std::vector<char> done_;
};

double distance(const float* a, const float* b, int64_t dimensions) {
    // Several sums at once, which the compiler can keep in one register.
    constexpr int64_t lanes = 8;
    double sums[lanes] = {};
    int64_t k = 0;
    for (; k + lanes <= dimensions; k += lanes) {
        for (int64_t lane = 0; lane < lanes; ++lane) {
            const double difference = static_cast<double>(a[k + lane]) - static_cast<double>(b[k + lane]);
            sums[lane] += difference * difference;
        }
    }
    for (; k < dimensions; ++k) {
        const double difference = static_cast<double>(a[k]) - static_cast<double>(b[k]);
        sums[0] += difference * difference;
    }
    double total = 0;
    for (const double sum : sums) total += sum;
    return std::sqrt(total);
}

// By how much each word weighs more in one of two bags. Weights are whole numbers: each count is multiplied by the
// size of the other bag, which makes both bags equally heavy. What a word has in both bags can stay where it is,
// because no detour is shorter than the direct way.
struct Excess {
    std::vector<int32_t> giving, taking;
    std::vector<int64_t> supply, demand;
    double whole = 0;
    double bound = 0;

    void clear() {
        giving.clear();
        taking.clear();
        supply.clear();
        demand.clear();
    }
};

class WordMover {
public:
    WordMover(const Grams& bags, View<float> vectors, int64_t dimensions)
        : bags_(bags), vectors_(vectors), dimensions_(dimensions), shift_(dimensions) {}

    double best(int32_t candidate, View<int32_t> references) {
        order_.clear();
        if (static_cast<int64_t>(excess_.size()) < references.size) excess_.resize(references.size);
        for (int64_t r = 0; r < references.size; ++r) {
            if (is_empty(candidate) || is_empty(references[r])) continue;
            compare(candidate, references[r], excess_[r]);
            if (excess_[r].giving.empty()) return 1;
            excess_[r].bound = centroid_distance(excess_[r]);
            order_.push_back(r);
        }
        // The likeliest to be close comes first, so that more of the others can be skipped.
        std::sort(order_.begin(), order_.end(), [this](int64_t a, int64_t b) {
            return std::make_pair(excess_[a].bound, a) < std::make_pair(excess_[b].bound, b);
        });
        double shortest = far_away;
        for (const int64_t r : order_) {
            if (excess_[r].bound >= shortest) break;
            shortest = std::min(shortest, distance_below(excess_[r], shortest));
        }
        return std::exp(-shortest);
    }

    double mean(int32_t candidate, View<int32_t> references) {
        if (references.size == 0) return 0;
        excess_.resize(std::max<size_t>(1, excess_.size()));
        double total = 0;
        for (const int32_t reference : references) {
            if (is_empty(candidate) || is_empty(reference)) continue;
            compare(candidate, reference, excess_[0]);
            total += std::exp(-distance_below(excess_[0], far_away));
        }
        return total / static_cast<double>(references.size);
    }

private:
    bool is_empty(int32_t caption) const { return bags_.begin(caption) == bags_.end(caption); }

    int64_t size(int32_t caption) const {
        int64_t words = 0;
        for (int64_t at = bags_.begin(caption); at < bags_.end(caption); ++at) words += bags_.counts[at];
        return words;
    }

    const float* vector(int32_t word) const { return vectors_.data + word * dimensions_; }

    void compare(int32_t ours, int32_t theirs, Excess& excess) const {
        excess.clear();
        const int64_t our_size = size(ours), their_size = size(theirs);
        excess.whole = static_cast<double>(our_size * their_size);
        int64_t i = bags_.begin(ours), j = bags_.begin(theirs);
        const int64_t i_end = bags_.end(ours), j_end = bags_.end(theirs);
        while (i < i_end || j < j_end) {
            const bool is_ours = i < i_end && (j == j_end || bags_.ids[i] <= bags_.ids[j]);
            const bool is_theirs = j < j_end && (i == i_end || bags_.ids[j] <= bags_.ids[i]);
            const int32_t word = is_ours ? bags_.ids[i] : bags_.ids[j];
            const int64_t our_weight = is_ours ? bags_.counts[i] * their_size : 0;
            const int64_t their_weight = is_theirs ? bags_.counts[j] * our_size : 0;
            const int64_t surplus = our_weight - their_weight;
            if (surplus > 0) {
                excess.giving.push_back(word);
                excess.supply.push_back(surplus);
            } else if (surplus < 0) {
                excess.taking.push_back(word);
                excess.demand.push_back(-surplus);
            }
            i += is_ours;
            j += is_theirs;
        }
    }

    // A lower bound: the bags' centres of gravity are no farther apart than the bags.
    double centroid_distance(const Excess& excess) {
        std::fill(shift_.begin(), shift_.end(), 0.0);
        for (size_t i = 0; i < excess.giving.size(); ++i)
            add(vector(excess.giving[i]), static_cast<double>(excess.supply[i]));
        for (size_t j = 0; j < excess.taking.size(); ++j)
            add(vector(excess.taking[j]), -static_cast<double>(excess.demand[j]));
        double total = 0;
        for (const double component : shift_) total += component * component;
        return std::sqrt(total) / excess.whole;
    }

    void add(const float* vector, double weight) {
        for (int64_t k = 0; k < dimensions_; ++k) shift_[k] += weight * static_cast<double>(vector[k]);
    }

    // Exact, or infinity where it is clear that the distance is at least `limit`.
    double distance_below(const Excess& excess, double limit) {
        const size_t suppliers = excess.giving.size(), customers = excess.taking.size();
        solver_.cost.resize(suppliers * customers);
        nearest_.assign(customers, far_away);
        // Two more lower bounds: every word goes to its nearest, or every word comes from its nearest.
        double sent = 0, received = 0;
        for (size_t i = 0; i < suppliers; ++i) {
            double nearest = far_away;
            for (size_t j = 0; j < customers; ++j) {
                const double length = distance(vector(excess.giving[i]), vector(excess.taking[j]), dimensions_);
                solver_.cost[i * customers + j] = length;
                nearest = std::min(nearest, length);
                nearest_[j] = std::min(nearest_[j], length);
            }
            sent += nearest * static_cast<double>(excess.supply[i]);
        }
        for (size_t j = 0; j < customers; ++j) received += nearest_[j] * static_cast<double>(excess.demand[j]);
        if (std::max(sent, received) / excess.whole >= limit) return far_away;
        return solver_.solve(excess.supply, excess.demand, limit * excess.whole) / excess.whole;
    }

    const Grams& bags_;
    View<float> vectors_;
    int64_t dimensions_;
    Solver solver_;
    std::vector<Excess> excess_;
    std::vector<int64_t> order_;
    std::vector<double> shift_, nearest_;
};

int64_t total(View<int64_t> amounts) {
    int64_t sum = 0;
    for (const int64_t amount : amounts) {
        require(amount >= 0, "supply and demand must not be negative");
        require(amount < max_total - sum, "supply and demand must have the same total, below 2**62");
        sum += amount;
    }
    return sum;
}

void check_bags(const Grams& bags) {
    for (int64_t c = 0; c < bags.captions(); ++c) {
        int64_t words = 0;
        for (int64_t at = bags.begin(c); at < bags.end(c); ++at) {
            require(bags.counts[at] >= 1, "counts must be at least 1");
            require(at == bags.begin(c) || bags.ids[at - 1] < bags.ids[at], "ids must rise within each caption");
            words += bags.counts[at];
        }
        require(words <= INT32_MAX, "a caption has too many words");
    }
}

}  // namespace

Buffer<int64_t> transport(View<double> cost, View<int64_t> supply, View<int64_t> demand) {
    for (const double each : cost) require(std::isfinite(each) && each >= 0, "cost must be finite and not negative");
    require(total(supply) == total(demand), "supply and demand must have the same total, below 2**62");
    Solver solver;
    solver.cost.assign(cost.begin(), cost.end());
    solver.solve({supply.begin(), supply.end()}, {demand.begin(), demand.end()});
    Buffer<int64_t> flow(cost.size);
    std::copy(solver.flow.begin(), solver.flow.end(), flow.data());
    return flow;
}

Buffer<double> wmd_stats(const Grams& bags, View<float> vectors, int64_t dimensions, const Rows& rows, bool best,
                         int threads) {
    check_threads(threads);
    check(bags);
    require(dimensions >= 1, "vectors must have at least one dimension");
    check_range(bags.ids, vectors.size / dimensions, "ids must be below the number of vectors");
    for (const float component : vectors) require(std::isfinite(component), "vectors must be finite");
    check_bags(bags);
    check(rows, bags.captions());
    Buffer<double> stats(rows.count());
    for_blocks(rows.count(), rows_per_block, threads, [&](int64_t begin, int64_t end) {
        WordMover mover(bags, vectors, dimensions);
        for (int64_t row = begin; row < end; ++row) {
            const int32_t candidate = rows.candidate[row];
            const auto references = rows.references(row);
            stats[row] = best ? mover.best(candidate, references) : mover.mean(candidate, references);
        }
    });
    return stats;
}

}  // namespace capeval
