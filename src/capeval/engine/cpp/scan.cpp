#include "scan.hpp"

#include <deque>
#include <unordered_map>

namespace capeval {
namespace {

constexpr uint8_t skipped_kind = 0;
constexpr std::string_view after_text = "\nA ";  // why: see AFTER_TEXT in scanning.py
constexpr int64_t texts_per_block = 2048;

struct Piece {
    std::string_view spelling;
    uint8_t kind;

    bool operator==(const Piece& other) const { return kind == other.kind && spelling == other.spelling; }
};

struct PieceHash {
    size_t operator()(const Piece& piece) const {
        return std::hash<std::string_view>{}(piece.spelling) * 31 + piece.kind;
    }
};

using Numbers = std::unordered_map<Piece, int32_t, PieceHash>;

// One text as UTF-16 units, each with the place of its character in the UTF-8 bytes.
struct Units {
    std::vector<uint8_t> classes;  // of each unit, then of what follows the text
    std::vector<uint32_t> bytes;   // where each unit's character begins; one entry more for the end
    std::vector<bool> second_half;
    int64_t count = 0;

    void read(std::string_view text, const ScannerTables& tables) {
        classes.clear();
        bytes.clear();
        second_half.clear();
        for (size_t i = 0; i < text.size();) {
            const auto lead = static_cast<unsigned char>(text[i]);
            if (lead < 0x80) {
                add(lead, i, false, tables);
                ++i;
                continue;
            }
            const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
            require(i + length <= text.size(), "a text is not UTF-8");
            uint32_t code = lead & (0xFF >> (length + 1));
            for (size_t k = 1; k < length; ++k) code = code << 6 | (static_cast<unsigned char>(text[i + k]) & 0x3F);
            if (code <= 0xFFFF) {
                add(code, i, false, tables);
            } else {
                add(0xD800 + ((code - 0x10000) >> 10 & 0x3FF), i, false, tables);
                add(0xDC00 + ((code - 0x10000) & 0x3FF), i, true, tables);
            }
            i += length;
        }
        count = static_cast<int64_t>(classes.size());
        bytes.push_back(static_cast<uint32_t>(text.size()));
        second_half.push_back(false);
        for (const char c : after_text) classes.push_back(tables.unit_class[static_cast<unsigned char>(c)]);
    }

private:
    void add(uint32_t unit, size_t byte, bool second, const ScannerTables& tables) {
        classes.push_back(tables.unit_class[unit]);
        bytes.push_back(static_cast<uint32_t>(byte));
        second_half.push_back(second);
    }
};

class Cutter {
public:
    Cutter(const ScannerTables& tables, std::deque<std::string>& mended) : tables_(tables), mended_(mended) {}

    template <class Emit>
    void cut(std::string_view text, const Emit& emit) {
        units_.read(text, tables_);
        for (int64_t begin = 0; begin < units_.count;) {
            int64_t end = begin;
            const int rule = longest_match(begin, end);
            if (rule < 0) {
                ++begin;  // no rule takes this unit: leave it out
                continue;
            }
            if (tables_.heads[rule] != 0) end = token_end(rule, begin, end);
            end = std::min(end, units_.count) - tables_.cut[rule];
            if (tables_.kinds[rule] != skipped_kind) emit(Piece{spelling(text, begin, end), tables_.kinds[rule]});
            const int64_t next = end - tables_.reread[rule];
            require(next > begin, "the tokenizer's tables make no progress");
            begin = next;
        }
    }

private:
    uint16_t step(uint16_t state, int64_t place) const {
        return tables_.transitions[state * tables_.classes + units_.classes[static_cast<size_t>(place)]];
    }

    int longest_match(int64_t begin, int64_t& end) const {
        auto state = static_cast<uint16_t>(tables_.start);
        int rule = -1;
        const auto total = static_cast<int64_t>(units_.classes.size());
        for (int64_t place = begin; place < total; ++place) {
            state = step(state, place);
            if (state == 0) break;
            if (tables_.accepts[state] >= 0) {
                rule = tables_.accepts[state];
                end = place + 1;
            }
        }
        return rule;
    }

    // Where the token stops and what must follow it begins: as far right as both allow.
    int64_t token_end(int rule, int64_t begin, int64_t end) {
        ends_.clear();
        uint16_t state = tables_.heads[rule];
        for (int64_t place = begin; place < end; ++place) {
            state = step(state, place);
            if (state == 0) break;
            if (tables_.accepts[state] >= 0) ends_.push_back(place + 1);
        }
        for (auto middle = ends_.rbegin(); middle != ends_.rend(); ++middle) {
            state = tables_.tails[rule];
            for (int64_t place = *middle; place < end && state != 0; ++place) state = step(state, place);
            if (state != 0 && *middle < end && tables_.accepts[state] >= 0) return *middle;
        }
        throw std::invalid_argument("a rule matched whose parts do not");
    }

    // Half a character becomes a question mark.
    std::string_view spelling(std::string_view text, int64_t begin, int64_t end) {
        const auto first = static_cast<size_t>(begin), last = static_cast<size_t>(end);
        if (!units_.second_half[first] && !units_.second_half[last]) {
            return text.substr(units_.bytes[first], units_.bytes[last] - units_.bytes[first]);
        }
        const size_t from = units_.bytes[first + (units_.second_half[first] ? 1 : 0)];
        std::string mended = units_.second_half[first] ? "?" : "";
        if (units_.bytes[last] > from) mended += text.substr(from, units_.bytes[last] - from);
        if (units_.second_half[last]) mended += "?";
        return mended_.emplace_back(std::move(mended));
    }

    const ScannerTables& tables_;
    Units units_;
    std::vector<int64_t> ends_;
    std::deque<std::string>& mended_;
};

struct Block {
    std::vector<int32_t> numbers;    // within the block
    std::vector<int32_t> counts;     // pieces per text
    std::vector<Piece> pieces;       // by number
    std::deque<std::string> mended;  // spellings that stand in no text; a deque keeps views of them valid
};

void check(const ScannerTables& tables) {
    const int64_t states = tables.accepts.size, rules = tables.kinds.size;
    require(tables.unit_class.size == 0x10000, "unit_class must have 65,536 entries");
    require(tables.classes >= 1 && states >= 1 && tables.transitions.size == states * tables.classes,
            "transitions must have a row for each state");
    require(tables.start > 0 && tables.start < states, "start must be a state");
    for (const uint8_t each : tables.unit_class) require(each < tables.classes, "unit_class holds an unknown class");
    for (const uint16_t each : tables.transitions) require(each < states, "transitions lead to an unknown state");
    for (const int16_t each : tables.accepts) require(each >= -1 && each < rules, "accepts holds an unknown rule");
    require(tables.heads.size == rules && tables.tails.size == rules && tables.cut.size == rules &&
                tables.reread.size == rules,
            "the tables of rules differ in length");
    for (const uint16_t each : tables.heads) require(each < states, "heads holds an unknown state");
    for (const uint16_t each : tables.tails) require(each < states, "tails holds an unknown state");
}

void scan_block(const std::vector<std::string_view>& texts, int64_t begin, int64_t end, const ScannerTables& tables,
                Block& block) {
    Cutter cutter(tables, block.mended);
    Numbers numbers;
    for (int64_t i = begin; i < end; ++i) {
        const size_t before = block.numbers.size();
        cutter.cut(texts[static_cast<size_t>(i)], [&](const Piece& piece) {
            auto [found, is_new] = numbers.try_emplace(piece, static_cast<int32_t>(numbers.size()));
            if (is_new) block.pieces.push_back(piece);
            block.numbers.push_back(found->second);
        });
        block.counts.push_back(static_cast<int32_t>(block.numbers.size() - before));
    }
}

}  // namespace

Pieces scan(const std::vector<std::string_view>& texts, const ScannerTables& tables, int threads) {
    check_threads(threads);
    check(tables);
    const auto rows = static_cast<int64_t>(texts.size());
    std::vector<Block> blocks(static_cast<size_t>((rows + texts_per_block - 1) / texts_per_block));
    for_blocks(rows, texts_per_block, threads, [&](int64_t begin, int64_t end) {
        scan_block(texts, begin, end, tables, blocks[static_cast<size_t>(begin / texts_per_block)]);
    });

    int64_t total = 0;
    for (const Block& block : blocks) total += static_cast<int64_t>(block.numbers.size());
    Pieces result;
    result.numbers.resize(total);
    result.offsets.resize(rows + 1);
    result.offsets[0] = 0;
    Numbers numbers;
    std::vector<int32_t> global;
    int64_t place = 0, row = 0;
    for (const Block& block : blocks) {
        global.clear();
        for (const Piece& piece : block.pieces) {
            auto [found, is_new] = numbers.try_emplace(piece, static_cast<int32_t>(numbers.size()));
            if (is_new) {
                result.kinds.push_back(piece.kind);
                result.spellings.emplace_back(piece.spelling);
            }
            global.push_back(found->second);
        }
        for (const int32_t number : block.numbers) result.numbers[place++] = global[static_cast<size_t>(number)];
        for (const int32_t count : block.counts) {
            result.offsets[row + 1] = result.offsets[row] + count;
            ++row;
        }
    }
    return result;
}

}  // namespace capeval
