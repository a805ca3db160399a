#include "scan.hpp"

#include <cstring>
#include <deque>

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

// Numbers pieces by first occurrence. Most lookups find a short word: they cost one hash and one comparison.
class PieceNumbers {
public:
    PieceNumbers() : slots_(1024, Slot{0, -1}) {}

    int32_t number(const Piece& piece) {
        const uint32_t hash = hash_of(piece);
        size_t at = hash & (slots_.size() - 1);
        for (; slots_[at].number >= 0; at = (at + 1) & (slots_.size() - 1)) {
            if (slots_[at].hash == hash && pieces_[slots_[at].number] == piece) return slots_[at].number;
        }
        slots_[at] = {hash, static_cast<int32_t>(pieces_.size())};
        pieces_.push_back(piece);
        if (pieces_.size() * 2 > slots_.size()) grow();
        return static_cast<int32_t>(pieces_.size() - 1);
    }

    const std::vector<Piece>& pieces() const { return pieces_; }

private:
    struct Slot {
        uint32_t hash;
        int32_t number;  // -1: free
    };

    static uint32_t hash_of(const Piece& piece) {
        constexpr uint64_t factor = 0x9E3779B97F4A7C15u;  // 2^64 / golden ratio
        uint64_t hash = piece.spelling.size() << 8 | piece.kind;
        size_t i = 0;
        for (; i + 8 <= piece.spelling.size(); i += 8) hash = (hash ^ load(piece.spelling.data() + i, 8)) * factor;
        hash = (hash ^ load(piece.spelling.data() + i, piece.spelling.size() - i)) * factor;
        return static_cast<uint32_t>((hash ^ hash >> 29) * factor >> 32);
    }

    static uint64_t load(const char* bytes, size_t size) {
        uint64_t value = 0;
        std::memcpy(&value, bytes, size);
        return value;
    }

    void grow() {
        std::vector<Slot> old(slots_.size() * 2, Slot{0, -1});
        old.swap(slots_);
        for (const Slot& slot : old) {
            if (slot.number < 0) continue;
            size_t at = slot.hash & (slots_.size() - 1);
            while (slots_[at].number >= 0) at = (at + 1) & (slots_.size() - 1);
            slots_[at] = slot;
        }
    }

    std::vector<Slot> slots_;
    std::vector<Piece> pieces_;
};

// One text as UTF-16 units, each with the place of its character in the UTF-8 bytes.
struct Units {
    std::vector<uint8_t> classes;  // of each unit, then of what follows the text
    std::vector<uint32_t> bytes;   // where each unit's character begins; one entry more for the end
    std::vector<bool> second_half;
    int64_t count = 0;

    bool ascii = true;  // then units are bytes, and the two vectors above stay empty

    void read(std::string_view text, const ScannerTables& tables) {
        bytes.clear();
        second_half.clear();
        ascii = std::none_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
        if (ascii) {
            count = static_cast<int64_t>(text.size());
            classes.resize(text.size() + after_text.size());
            for (size_t i = 0; i < text.size(); ++i) classes[i] = tables.unit_class[static_cast<unsigned char>(text[i])];
        } else {
            read_wide(text, tables);
        }
        for (size_t i = 0; i < after_text.size(); ++i) {
            classes[static_cast<size_t>(count) + i] = tables.unit_class[static_cast<unsigned char>(after_text[i])];
        }
    }

private:
    void read_wide(std::string_view text, const ScannerTables& tables) {
        classes.clear();
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
        classes.resize(classes.size() + after_text.size());
    }

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
        if (units_.ascii) return text.substr(first, last - first);
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
    PieceNumbers pieces;
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
    for (int64_t i = begin; i < end; ++i) {
        const size_t before = block.numbers.size();
        cutter.cut(texts[static_cast<size_t>(i)],
                   [&](const Piece& piece) { block.numbers.push_back(block.pieces.number(piece)); });
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
    PieceNumbers pieces;
    std::vector<int32_t> global;
    int64_t place = 0, row = 0;
    for (const Block& block : blocks) {
        global.clear();
        for (const Piece& piece : block.pieces.pieces()) global.push_back(pieces.number(piece));
        for (const int32_t number : block.numbers) result.numbers[place++] = global[static_cast<size_t>(number)];
        for (const int32_t count : block.counts) {
            result.offsets[row + 1] = result.offsets[row] + count;
            ++row;
        }
    }
    for (const Piece& piece : pieces.pieces()) {
        result.kinds.push_back(piece.kind);
        result.spellings.emplace_back(piece.spelling);
    }
    return result;
}

}  // namespace capeval
