// Dependency trees to the tuples of SPICE. The rules are those of capeval/engine/rules.py, one by one and under the same
// names; what they mean and why they are as they are is said there.
#pragma once

#include "graph.hpp"

namespace capeval {

// Captions whose tokens are rows of the table; for each token its head in the caption (0: none, 1: the first word) and
// the number of its relation to it. Words without a head, and only those, have the relation root.
struct DependencyTrees {
    View<int32_t> tokens;
    View<int64_t> offsets;
    View<int32_t> heads;
    View<int32_t> relations;
    std::vector<Text> names;
};

// (lemma,), (lemma, lemma) or (lemma, lemma, relation); lemmas are rows of the table, -1 where there is none.
struct FoundTuple {
    int32_t first = -1;
    int32_t second = -1;
    bool is_relation = false;
    std::string relation;
};

std::vector<std::vector<FoundTuple>> dependency_tuples(const TokenTable& table, const DependencyTrees& trees);

}  // namespace capeval
