#include "bindings.hpp"
#include "rules.hpp"

namespace capeval {
namespace {

nb::list bound_dependency_tuples(const nb::list& words, const nb::list& tags, const nb::list& lemmas,
                                 const nb::list& stems, const Array& tokens, const Array& offsets, const Array& heads,
                                 const Array& relations, const nb::list& names) {
    const TokenTable table{texts_of(words), texts_of(tags), texts_of(lemmas), texts_of(stems)};
    const DependencyTrees trees{ints(tokens, "tokens"), longs(offsets, "offsets"), ints(heads, "heads"),
                                ints(relations, "relations"), texts_of(names)};
    nb::list captions;
    for (const auto& found : without_gil([&] { return dependency_tuples(table, trees); })) {
        nb::list tuples;
        for (const FoundTuple& each : found) {
            const nb::object first = lemmas[each.first];
            if (each.is_relation) {
                tuples.append(nb::make_tuple(first, nb::object(lemmas[each.second]),
                                             nb::str(each.relation.data(), each.relation.size())));
            } else if (each.second >= 0) {
                tuples.append(nb::make_tuple(first, nb::object(lemmas[each.second])));
            } else {
                tuples.append(nb::make_tuple(first));
            }
        }
        captions.append(tuples);
    }
    return captions;
}

}  // namespace

void bind_rules(nb::module_& module) {
    module.def("dependency_tuples", &bound_dependency_tuples, "words"_a, "tags"_a, "lemmas"_a, "stems"_a, "tokens"_a,
               "offsets"_a, "heads"_a, "relations"_a, "names"_a);
}

}  // namespace capeval
