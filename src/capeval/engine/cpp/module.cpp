// The border to Python: arrays in, arrays out. Kernels check what the numbers say, this file what the arrays are.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "ngrams.hpp"
#include "scan.hpp"
#include "scores.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace capeval {
namespace {

// Any dtype, shape and layout: these are checked here, because a mismatch should be a ValueError that names the array.
using Array = nb::ndarray<nb::ro, nb::device::cpu>;

template <class T>
View<T> view(const Array& array, size_t dimensions, const char* name, const char* type) {
    bool fits = array.ndim() == dimensions && array.dtype() == nb::dtype<T>();
    int64_t size = 1;
    for (size_t axis = dimensions; fits && axis-- > 0;) {
        const auto extent = static_cast<int64_t>(array.shape(axis));
        fits = extent <= 1 || array.stride(axis) == size;
        size *= extent;
    }
    const auto* data = static_cast<const T*>(array.data());
    fits = fits && (size == 0 || reinterpret_cast<uintptr_t>(data) % alignof(T) == 0);
    if (!fits) {
        const std::string shape = std::to_string(dimensions) + "-dimensional contiguous array of " + type;
        throw std::invalid_argument(std::string(name) + " must be a " + shape);
    }
    return {data, size};
}

View<int32_t> ints(const Array& array, const char* name) { return view<int32_t>(array, 1, name, "int32"); }
View<int64_t> longs(const Array& array, const char* name) { return view<int64_t>(array, 1, name, "int64"); }
View<double> doubles(const Array& array, const char* name) { return view<double>(array, 1, name, "float64"); }
View<int32_t> int_rows(const Array& array, const char* name) { return view<int32_t>(array, 2, name, "int32"); }

Captions captions_of(const Array& tokens, const Array& offsets) {
    return {ints(tokens, "tokens"), longs(offsets, "offsets")};
}

Grams grams_of(const Array& ids, const Array& counts, const Array& gram_offsets, int n) {
    return {ints(ids, "ids"), ints(counts, "counts"), longs(gram_offsets, "gram_offsets"), n};
}

ReferenceSets sets_of(const Array& group_offsets, const Array& group_captions) {
    return {longs(group_offsets, "group_offsets"), ints(group_captions, "group_captions")};
}

Rows rows_of(const Array& candidate, const Array& group, const Array& group_offsets, const Array& group_captions) {
    return {ints(candidate, "candidate"), ints(group, "group"), sets_of(group_offsets, group_captions)};
}

template <class Compute>
auto without_gil(const Compute& compute) {
    nb::gil_scoped_release released;
    return compute();
}

// Hands the memory to NumPy, which frees it with the last array that uses it.
template <class T>
nb::object to_numpy(Buffer<T> buffer) {
    const auto size = static_cast<size_t>(buffer.size());
    T* data = buffer.release();
    nb::capsule owner(data, [](void* memory) noexcept { std::free(memory); });
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(data, {size}, owner));
}

template <class T>
nb::object to_numpy(Buffer<T> buffer, int64_t columns) {
    const auto rows = static_cast<size_t>(buffer.size() / columns);
    T* data = buffer.release();
    nb::capsule owner(data, [](void* memory) noexcept { std::free(memory); });
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<2>>(data, {rows, static_cast<size_t>(columns)}, owner));
}

// Python keeps the UTF-8 form with the string, and the list keeps the string: the views stay valid without the GIL.
std::vector<std::string_view> texts_of(const nb::list& texts) {
    std::vector<std::string_view> views;
    views.reserve(texts.size());
    for (const nb::handle text : texts) {
        if (!nb::isinstance<nb::str>(text)) throw std::invalid_argument("texts must be strings");
        Py_ssize_t size = 0;
        const char* data = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
        if (data == nullptr) throw nb::python_error();
        views.emplace_back(data, static_cast<size_t>(size));
    }
    return views;
}

nb::tuple bind_scan(const nb::list& texts, const Array& unit_class, const Array& transitions, const Array& accepts,
                    int64_t start, const Array& kinds, const Array& heads, const Array& tails, const Array& cut,
                    const Array& reread, int threads) {
    const auto moves = view<uint16_t>(transitions, 2, "transitions", "uint16");
    const ScannerTables tables{view<uint8_t>(unit_class, 1, "unit_class", "uint8"),
                               moves,
                               view<int16_t>(accepts, 1, "accepts", "int16"),
                               start,
                               view<uint8_t>(kinds, 1, "kinds", "uint8"),
                               view<uint16_t>(heads, 1, "heads", "uint16"),
                               view<uint16_t>(tails, 1, "tails", "uint16"),
                               view<uint8_t>(cut, 1, "cut", "uint8"),
                               view<uint8_t>(reread, 1, "reread", "uint8"),
                               static_cast<int64_t>(transitions.shape(1))};
    const auto views = texts_of(texts);
    Pieces found = without_gil([&] { return scan(views, tables, threads); });
    nb::list kind_list, spellings;
    for (const uint8_t kind : found.kinds) kind_list.append(static_cast<int>(kind));
    for (const std::string& spelling : found.spellings) spellings.append(nb::str(spelling.data(), spelling.size()));
    return nb::make_tuple(to_numpy(std::move(found.numbers)), to_numpy(std::move(found.offsets)), kind_list, spellings);
}

nb::tuple bind_ngrams(const Array& tokens, const Array& offsets, int n, int threads) {
    check_threads(threads);  // numbering by first occurrence is sequential: there is nothing for more threads to do
    const Captions captions = captions_of(tokens, offsets);
    NgramCounts found = without_gil([&] { return ngrams(captions, n); });
    return nb::make_tuple(to_numpy(std::move(found.ids)), to_numpy(std::move(found.counts)),
                          to_numpy(std::move(found.offsets)), to_numpy(std::move(found.grams), n));
}

nb::object bind_document_frequency(const Array& ids, const Array& gram_offsets, int n, const Array& group_offsets,
                                   const Array& group_captions, int64_t size, int threads) {
    const auto gram_ids = ints(ids, "ids");
    const auto slices = longs(gram_offsets, "gram_offsets");
    const ReferenceSets sets = sets_of(group_offsets, group_captions);
    return to_numpy(without_gil([&] { return document_frequency(gram_ids, slices, n, sets, size, threads); }));
}

nb::object bind_match_grams(const Array& grams, const Array& table, int threads) {
    const auto queries = int_rows(grams, "grams"), entries = int_rows(table, "table");
    const auto n = static_cast<int64_t>(grams.shape(1));
    require(n >= 1 && static_cast<int64_t>(table.shape(1)) == n, "grams and table must have equally many columns");
    return to_numpy(without_gil([&] { return match_grams(queries, entries, n, threads); }));
}

nb::object bind_bleu_stats(const Array& ids, const Array& counts, const Array& gram_offsets, int n,
                           const Array& offsets, const Array& candidate, const Array& group,
                           const Array& group_offsets, const Array& group_captions, int threads) {
    const Grams grams = grams_of(ids, counts, gram_offsets, n);
    const auto caption_offsets = longs(offsets, "offsets");
    const Rows rows = rows_of(candidate, group, group_offsets, group_captions);
    return to_numpy(without_gil([&] { return bleu_stats(grams, caption_offsets, rows, threads); }), 2 * n + 2);
}

nb::object bind_rouge_stats(const Array& tokens, const Array& offsets, const Array& candidate, const Array& group,
                            const Array& group_offsets, const Array& group_captions, int threads) {
    const Captions captions = captions_of(tokens, offsets);
    const Rows rows = rows_of(candidate, group, group_offsets, group_captions);
    return to_numpy(without_gil([&] { return rouge_stats(captions, rows, threads); }), 2);
}

nb::object bind_cider_stats(const Array& ids, const Array& counts, const Array& gram_offsets, int n, const Array& idf,
                            const Array& candidate, const Array& group, const Array& group_offsets,
                            const Array& group_captions, bool clip, double sigma, int threads) {
    const Grams grams = grams_of(ids, counts, gram_offsets, n);
    const auto weights = doubles(idf, "idf");
    const Rows rows = rows_of(candidate, group, group_offsets, group_captions);
    return to_numpy(without_gil([&] { return cider_stats(grams, weights, rows, clip, sigma, threads); }), n);
}

}  // namespace
}  // namespace capeval

NB_MODULE(_compiled, module) {
    using namespace capeval;
    module.doc() = "The compiled engine: the functions of capeval.engine.reference in C++.";
    module.def("scan", &bind_scan, "texts"_a, "unit_class"_a, "transitions"_a, "accepts"_a, "start"_a, "kinds"_a,
               "heads"_a, "tails"_a, "cut"_a, "reread"_a, "threads"_a);
    module.def("ngrams", &bind_ngrams, "tokens"_a, "offsets"_a, "n"_a, "threads"_a);
    module.def("document_frequency", &bind_document_frequency, "ids"_a, "gram_offsets"_a, "n"_a, "group_offsets"_a,
               "group_captions"_a, "size"_a, "threads"_a);
    module.def("match_grams", &bind_match_grams, "grams"_a, "table"_a, "threads"_a);
    module.def("bleu_stats", &bind_bleu_stats, "ids"_a, "counts"_a, "gram_offsets"_a, "n"_a, "offsets"_a,
               "candidate"_a, "group"_a, "group_offsets"_a, "group_captions"_a, "threads"_a);
    module.def("rouge_stats", &bind_rouge_stats, "tokens"_a, "offsets"_a, "candidate"_a, "group"_a,
               "group_offsets"_a, "group_captions"_a, "threads"_a);
    module.def("cider_stats", &bind_cider_stats, "ids"_a, "counts"_a, "gram_offsets"_a, "n"_a, "idf"_a, "candidate"_a,
               "group"_a, "group_offsets"_a, "group_captions"_a, "clip"_a, "sigma"_a, "threads"_a);
}
