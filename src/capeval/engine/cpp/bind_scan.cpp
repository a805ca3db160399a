#include "bindings.hpp"
#include "scan.hpp"

namespace capeval {
namespace {

nb::tuple scan_texts(const nb::list& texts, const Array& unit_class, const Array& transitions, const Array& accepts,
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

}  // namespace

void bind_scan(nb::module_& module) {
    module.def("scan", &scan_texts, "texts"_a, "unit_class"_a, "transitions"_a, "accepts"_a, "start"_a, "kinds"_a,
               "heads"_a, "tails"_a, "cut"_a, "reread"_a, "threads"_a);
}

}  // namespace capeval
