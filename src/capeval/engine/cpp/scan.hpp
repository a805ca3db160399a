// Cutting texts into pieces with a tokenizer's table (the twin of capeval/engine/scanning.py).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common.hpp"

namespace capeval {

// See capeval.text.scanner.Scanner for what each table means.
struct ScannerTables {
    View<uint8_t> unit_class;
    View<uint16_t> transitions;
    View<int16_t> accepts;
    int64_t start;
    View<uint8_t> kinds;
    View<uint16_t> heads;
    View<uint16_t> tails;
    View<uint8_t> cut;
    View<uint8_t> reread;
    int64_t classes;
};

struct Pieces {
    Buffer<int32_t> numbers;
    Buffer<int64_t> offsets;
    std::vector<uint8_t> kinds;
    std::vector<std::string> spellings;
};

// Texts are UTF-8. Numbers are given in order of first occurrence.
Pieces scan(const std::vector<std::string_view>& texts, const ScannerTables& tables, int threads);

}  // namespace capeval
