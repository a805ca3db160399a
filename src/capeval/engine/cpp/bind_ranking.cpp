#include "bindings.hpp"
#include "ranking.hpp"

namespace capeval {
namespace {

nb::object bind_rank_stats(const Array& x, const Array& y, const Array& group, const Array& weights, int threads) {
    const auto xs = ints(x, "x"), ys = ints(y, "y"), groups = ints(group, "group");
    const auto drawn = int_rows(weights, "weights");
    const auto resamples = static_cast<int64_t>(weights.shape(0)), columns = static_cast<int64_t>(weights.shape(1));
    return to_numpy(without_gil([&] { return rank_stats(xs, ys, groups, drawn, resamples, columns, threads); }),
                    rank_columns);
}

}  // namespace

void bind_ranking(nb::module_& module) {
    module.def("rank_stats", &bind_rank_stats, "x"_a, "y"_a, "group"_a, "weights"_a, "threads"_a);
}

}  // namespace capeval
