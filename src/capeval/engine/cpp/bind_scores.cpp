#include "bindings.hpp"
#include "ngrams.hpp"
#include "scores.hpp"

namespace capeval {
namespace {

Captions captions_of(const Array& tokens, const Array& offsets) {
    return {ints(tokens, "tokens"), longs(offsets, "offsets")};
}

Grams grams_of(const Array& ids, const Array& counts, const Array& gram_offsets, int n) {
    return {ints(ids, "ids"), ints(counts, "counts"), longs(gram_offsets, "gram_offsets"), n};
}

nb::tuple bind_ngrams(const Array& tokens, const Array& offsets, int n, int threads) {
    const Captions captions = captions_of(tokens, offsets);
    NgramCounts found = without_gil([&] { return ngrams(captions, n, threads); });
    return nb::make_tuple(to_numpy(std::move(found.ids)), to_numpy(std::move(found.counts)),
                          to_numpy(std::move(found.offsets)), to_numpy(std::move(found.grams), n));
}

nb::object bind_document_frequency(const Array& ids, const Array& gram_offsets, int n, const Array& group_offsets,
                                   const Array& group_captions, int64_t size, int threads) {
    const auto gram_ids = ints(ids, "ids");
    const auto slices = longs(gram_offsets, "gram_offsets");
    const ReferenceSets sets{longs(group_offsets, "group_offsets"), ints(group_captions, "group_captions")};
    return to_numpy(without_gil([&] { return document_frequency(gram_ids, slices, n, sets, size, threads); }));
}

nb::object bind_bleu_stats(const Array& ids, const Array& counts, const Array& gram_offsets, int n,
                           const Array& offsets, const nb::tuple& rows, int threads) {
    const Grams grams = grams_of(ids, counts, gram_offsets, n);
    const auto caption_offsets = longs(offsets, "offsets");
    const RowArrays arrays(rows);
    const Rows judged = arrays.view();
    return to_numpy(without_gil([&] { return bleu_stats(grams, caption_offsets, judged, threads); }), 2 * n + 2);
}

nb::object bind_rouge_stats(const Array& tokens, const Array& offsets, const nb::tuple& rows, int threads) {
    const Captions captions = captions_of(tokens, offsets);
    const RowArrays arrays(rows);
    const Rows judged = arrays.view();
    return to_numpy(without_gil([&] { return rouge_stats(captions, judged, threads); }), 2);
}

nb::object bind_cider_stats(const Array& ids, const Array& counts, const Array& gram_offsets, int n, const Array& idf,
                            const nb::tuple& rows, bool clip, double sigma, int threads) {
    const Grams grams = grams_of(ids, counts, gram_offsets, n);
    const auto weights = doubles(idf, "idf");
    const RowArrays arrays(rows);
    const Rows judged = arrays.view();
    return to_numpy(without_gil([&] { return cider_stats(grams, weights, judged, clip, sigma, threads); }), n);
}

}  // namespace

void bind_scores(nb::module_& module) {
    module.def("ngrams", &bind_ngrams, "tokens"_a, "offsets"_a, "n"_a, "threads"_a);
    module.def("document_frequency", &bind_document_frequency, "ids"_a, "gram_offsets"_a, "n"_a, "group_offsets"_a,
               "group_captions"_a, "size"_a, "threads"_a);
    module.def("bleu_stats", &bind_bleu_stats, "ids"_a, "counts"_a, "gram_offsets"_a, "n"_a, "offsets"_a,
               "rows"_a, "threads"_a);
    module.def("rouge_stats", &bind_rouge_stats, "tokens"_a, "offsets"_a, "rows"_a, "threads"_a);
    module.def("cider_stats", &bind_cider_stats, "ids"_a, "counts"_a, "gram_offsets"_a, "n"_a, "idf"_a, "rows"_a, "clip"_a, "sigma"_a, "threads"_a);
}

}  // namespace capeval
