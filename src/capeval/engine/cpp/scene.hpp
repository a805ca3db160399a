// Scene graphs: tuples of words merged by meaning, and what a candidate's graph shares with that of its references.
#pragma once

#include "common.hpp"

namespace capeval {

// The tuples of caption c are rows offsets[c] .. offsets[c + 1] of three words each, filled up with -1: an object; an
// object and its attribute; or subject, object and relation. `attribute_kinds` tells cardinalities, colors and sizes
// apart.
struct SceneTuples {
    View<int32_t> words;
    View<int64_t> offsets;
    View<int32_t> synsets;
    View<int64_t> synset_offsets;
    View<uint8_t> attribute_kinds;

    int64_t captions() const { return offsets.size - 1; }
    int64_t vocabulary() const { return synset_offsets.size - 1; }
};

constexpr int scene_columns = 18;

// For objects, attributes, relations, cardinalities, colors and sizes in turn: matched tuples, tuples of the candidate,
// tuples of the references.
Buffer<double> scene_stats(const SceneTuples& tuples, const Rows& rows, int threads);

}  // namespace capeval
