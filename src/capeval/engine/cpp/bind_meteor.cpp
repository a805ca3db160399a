#include "bindings.hpp"
#include "meteor.hpp"
#include "phrases.hpp"

namespace capeval {
namespace {

nb::tuple bind_find_phrases(const Array& tokens, const Array& offsets, const Array& table_words,
                            const Array& child_start, const Array& last_word, const Array& pair_start,
                            const Array& paraphrases, int threads) {
    const Captions captions{ints(tokens, "tokens"), longs(offsets, "offsets")};
    const auto numbers = ints(table_words, "table_words");
    const PhraseTable table{ints(child_start, "child_start"), ints(last_word, "last_word"),
                            ints(pair_start, "pair_start"), ints(paraphrases, "paraphrases")};
    FoundPhrases found = without_gil([&] { return find_phrases(captions, numbers, table, threads); });
    return nb::make_tuple(to_numpy(std::move(found.starts)), to_numpy(std::move(found.lengths)),
                          to_numpy(std::move(found.phrases)), to_numpy(std::move(found.offsets)),
                          to_numpy(std::move(found.links)), to_numpy(std::move(found.link_offsets)));
}

nb::object bind_meteor_stats(const Array& tokens, const Array& offsets, const Array& keys, const Array& stems,
                             const Array& is_function, const Array& synsets, const Array& synset_offsets,
                             const Array& starts, const Array& lengths, const Array& phrases,
                             const Array& phrase_offsets, const Array& links, const Array& link_offsets,
                             const Array& parameters, const nb::tuple& rows, int threads) {
    const Captions captions{ints(tokens, "tokens"), longs(offsets, "offsets")};
    const MeteorWords words{ints(keys, "keys"), ints(stems, "stems"),
                            view<uint8_t>(is_function, 1, "is_function", "uint8"), ints(synsets, "synsets"),
                            longs(synset_offsets, "synset_offsets")};
    const MeteorPhrases occurrences{ints(starts, "starts"),
                                    ints(lengths, "lengths"),
                                    ints(phrases, "phrases"),
                                    longs(phrase_offsets, "phrase_offsets"),
                                    ints(links, "links"),
                                    longs(link_offsets, "link_offsets")};
    const auto weights = doubles(parameters, "parameters");
    const RowArrays arrays(rows);
    const Rows judged = arrays.view();
    return to_numpy(without_gil([&] { return meteor_stats(captions, words, occurrences, weights, judged, threads); }),
                    meteor_columns);
}

}  // namespace

void bind_meteor(nb::module_& module) {
    module.def("find_phrases", &bind_find_phrases, "tokens"_a, "offsets"_a, "table_words"_a, "child_start"_a,
               "last_word"_a, "pair_start"_a, "paraphrases"_a, "threads"_a);
    module.def("meteor_stats", &bind_meteor_stats, "tokens"_a, "offsets"_a, "keys"_a, "stems"_a, "is_function"_a,
               "synsets"_a, "synset_offsets"_a, "starts"_a, "lengths"_a, "phrases"_a, "phrase_offsets"_a, "links"_a,
               "link_offsets"_a, "parameters"_a, "rows"_a, "threads"_a);
}

}  // namespace capeval
