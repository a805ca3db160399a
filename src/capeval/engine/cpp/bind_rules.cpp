#include "bindings.hpp"
#include "rules.hpp"

namespace capeval {
namespace {

WordLists lists_of(const nb::handle& lists) {
    const auto words = [&](const char* field) {
        WordLists::Words found;
        for (const nb::handle word : nb::iter(lists.attr(field))) found.insert(text_of(word));
        return found;
    };
    WordLists all{words("nouns"),
                  words("plural_nouns"),
                  words("participles"),
                  words("counted_by_article"),
                  words("counted_alone"),
                  words("counted_before_article"),
                  words("singular_pronouns"),
                  words("prepositions_beside"),
                  words("prepositions_above"),
                  words("prepositions_of_three"),
                  words("preposition_ends"),
                  {}};
    for (const auto& [phrase, name] : nb::cast<nb::dict>(lists.attr("conjunctions"))) {
        all.conjunctions.emplace(text_of(phrase), text_of(name));
    }
    return all;
}

nb::list bound_dependency_tuples(const nb::list& words, const nb::list& tags, const nb::list& lemmas,
                                 const nb::list& stems, const Array& tokens, const Array& offsets, const Array& heads,
                                 const Array& relations, const nb::list& names, const nb::object& lists) {
    const WordLists word_lists = lists_of(lists);
    const TokenTable table(texts_of(words), texts_of(tags), texts_of(lemmas), texts_of(stems), word_lists);
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
               "offsets"_a, "heads"_a, "relations"_a, "names"_a, "lists"_a);
}

}  // namespace capeval
