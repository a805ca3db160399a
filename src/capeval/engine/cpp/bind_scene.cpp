#include "bindings.hpp"
#include "scene.hpp"

namespace capeval {
namespace {

nb::object bound_scene_stats(const Array& tuples, const Array& tuple_offsets, const Array& synsets,
                             const Array& synset_offsets, const Array& sorts, const Array& candidate,
                             const Array& group, const Array& group_offsets, const Array& group_captions,
                             int threads) {
    const SceneTuples scene{int_rows(tuples, "tuples"), longs(tuple_offsets, "tuple_offsets"), ints(synsets, "synsets"),
                            longs(synset_offsets, "synset_offsets"), view<uint8_t>(sorts, 1, "sorts", "uint8")};
    require(tuples.shape(1) == 3, "tuples must have three columns");
    const Rows rows{ints(candidate, "candidate"), ints(group, "group"),
                    ReferenceSets{longs(group_offsets, "group_offsets"), ints(group_captions, "group_captions")}};
    return to_numpy(without_gil([&] { return scene_stats(scene, rows, threads); }), scene_columns);
}

}  // namespace

void bind_scene(nb::module_& module) {
    module.def("scene_stats", &bound_scene_stats, "tuples"_a, "tuple_offsets"_a, "synsets"_a, "synset_offsets"_a,
               "sorts"_a, "candidate"_a, "group"_a, "group_offsets"_a, "group_captions"_a, "threads"_a);
}

}  // namespace capeval
