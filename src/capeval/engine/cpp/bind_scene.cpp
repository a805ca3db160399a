#include "bindings.hpp"
#include "scene.hpp"

namespace capeval {
namespace {

nb::object bound_scene_stats(const Array& tuples, const Array& tuple_offsets, const Array& synsets,
                             const Array& synset_offsets, const Array& attribute_kinds, const nb::tuple& rows,
                             int threads) {
    const SceneTuples scene{int_rows(tuples, "tuples"), longs(tuple_offsets, "tuple_offsets"), ints(synsets, "synsets"),
                            longs(synset_offsets, "synset_offsets"),
                            view<uint8_t>(attribute_kinds, 1, "attribute_kinds", "uint8")};
    require(tuples.shape(1) == 3, "tuples must have three columns");
    const RowArrays arrays(rows);
    const Rows judged = arrays.view();
    return to_numpy(without_gil([&] { return scene_stats(scene, judged, threads); }), scene_columns);
}

}  // namespace

void bind_scene(nb::module_& module) {
    module.def("scene_stats", &bound_scene_stats, "tuples"_a, "tuple_offsets"_a, "synsets"_a, "synset_offsets"_a,
               "attribute_kinds"_a, "rows"_a, "threads"_a);
}

}  // namespace capeval
