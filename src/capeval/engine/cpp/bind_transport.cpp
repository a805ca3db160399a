#include "bindings.hpp"
#include "transport.hpp"

namespace capeval {
namespace {

nb::object bind_flow(const Array& cost, const Array& supply, const Array& demand) {
    const auto costs = view<double>(cost, 2, "cost", "float64");
    const auto supplies = longs(supply, "supply"), demands = longs(demand, "demand");
    require(static_cast<int64_t>(cost.shape(0)) == supplies.size && static_cast<int64_t>(cost.shape(1)) == demands.size,
            "cost must have a row for each supply and a column for each demand");
    Buffer<int64_t> flow = without_gil([&] { return transport(costs, supplies, demands); });
    const size_t shape[] = {cost.shape(0), cost.shape(1)};
    int64_t* data = flow.release();
    nb::capsule owner(data, [](void* memory) noexcept { std::free(memory); });
    return nb::cast(nb::ndarray<nb::numpy, int64_t, nb::ndim<2>>(data, 2, shape, owner));
}

nb::object bind_wmd_stats(const Array& ids, const Array& counts, const Array& gram_offsets, const Array& vectors,
                          const nb::tuple& rows, bool best, int threads) {
    const Grams bags{ints(ids, "ids"), ints(counts, "counts"), longs(gram_offsets, "gram_offsets"), 1};
    const auto table = view<float>(vectors, 2, "vectors", "float32");
    const auto dimensions = static_cast<int64_t>(vectors.shape(1));
    const RowArrays arrays(rows);
    const Rows judged = arrays.view();
    return to_numpy(without_gil([&] { return wmd_stats(bags, table, dimensions, judged, best, threads); }), 1);
}

}  // namespace

void bind_transport(nb::module_& module) {
    module.def("transport", &bind_flow, "cost"_a, "supply"_a, "demand"_a);
    module.def("wmd_stats", &bind_wmd_stats, "ids"_a, "counts"_a, "gram_offsets"_a, "vectors"_a, "rows"_a, "best"_a, "threads"_a);
}

}  // namespace capeval
