#include "ngrams.hpp"

#include <cstring>

namespace capeval {
namespace {

uint64_t mix(uint64_t key) {
    key *= 0x9E3779B97F4A7C15u;  // 2^64 / golden ratio
    key ^= key >> 32;
    return key * 0xD6E8FEB86659FD93u;
}

// Numbers n-grams by first occurrence. An n-gram is known exactly by the number of its first n-1 tokens (an n-gram
// numbered before) and its last token: 64 bits for any order and any vocabulary.
class GramNumbers {
public:
    static constexpr int32_t no_prefix = -1;

    struct Gram {
        int32_t prefix;
        int32_t last;
    };

    GramNumbers() { make_slots(12); }

    static uint64_t hash(Gram gram) {
        return mix(static_cast<uint64_t>(static_cast<uint32_t>(gram.prefix)) << 32 | static_cast<uint32_t>(gram.last));
    }

    void expect(uint64_t hash) const { prefetch(&slots_[hash >> shift_]); }

    int32_t number(uint64_t hash, Gram gram) {
        int64_t at = hash >> shift_;
        for (; slots_[at].number >= 0; at = (at + 1) & mask()) {
            const Slot& slot = slots_[at];
            if (slot.gram.prefix == gram.prefix && slot.gram.last == gram.last) return slot.number;
        }
        slots_[at] = {gram, append(gram)};
        if (count_ > slots_.size() / 4 * 3) grow();
        return static_cast<int32_t>(count_ - 1);
    }

    int64_t count() const { return count_; }
    Gram operator[](int64_t number) const { return grams_[number]; }

    // n tokens for each gram, padded with -1.
    Buffer<int32_t> spelled_out(int n) const {
        Buffer<int32_t> tokens(count_ * n);
        for (int64_t i = 0; i < count_; ++i) {
            int32_t* row = tokens.data() + i * n;
            if (grams_[i].prefix == no_prefix) {
                std::fill(row, row + n, -1);
            } else {
                std::copy_n(tokens.data() + int64_t{grams_[i].prefix} * n, n, row);
            }
            *std::find(row, row + n, -1) = grams_[i].last;
        }
        return tokens;
    }

private:
    struct Slot {
        Gram gram;
        int32_t number;  // -1: free
    };

    int64_t mask() const { return slots_.size() - 1; }

    void make_slots(int bits) {
        slots_ = Buffer<Slot>(int64_t{1} << bits);
        std::memset(static_cast<void*>(slots_.data()), 0xFF, slots_.size() * sizeof(Slot));
        shift_ = 64 - bits;
    }

    int32_t append(Gram gram) {
        if (count_ == INT32_MAX) throw std::length_error("more than 2^31 distinct n-grams; score in parts");
        if (count_ == grams_.size()) grams_.resize(std::max<int64_t>(4096, 2 * count_));
        grams_[count_] = gram;
        return static_cast<int32_t>(count_++);
    }

    void grow() {
        Buffer<Slot> old = std::move(slots_);
        make_slots(64 - shift_ + 1);
        // The top bits of the hash choose the slot, so this walks old and new slots from front to back.
        for (int64_t i = 0; i < old.size(); ++i) {
            if (old[i].number < 0) continue;
            int64_t at = hash(old[i].gram) >> shift_;
            while (slots_[at].number >= 0) at = (at + 1) & mask();
            slots_[at] = old[i];
        }
    }

    int shift_ = 0;
    int64_t count_ = 0;
    Buffer<Slot> slots_;
    Buffer<Gram> grams_;  // by number
};

// Captions are short. Counting how many values go before each one takes more steps than a clever sort, but no guesses.
void sort_short(const int32_t* values, int64_t size, int32_t* sorted) {
    if (size > 24) {
        std::copy(values, values + size, sorted);
        return std::sort(sorted, sorted + size);
    }
    for (int64_t i = 0; i < size; ++i) {
        int32_t rank = 0;
        for (int64_t j = 0; j < i; ++j) rank += values[j] <= values[i];
        for (int64_t j = i + 1; j < size; ++j) rank += values[j] < values[i];
        sorted[rank] = values[i];
    }
}

int64_t windows(int64_t length, int k) { return std::max<int64_t>(0, length - k + 1); }

// A run of captions that one thread works on, and where its n-grams stand in the result.
struct Part {
    int64_t first = 0;         // caption
    int64_t last = 0;          // one past its last caption
    int64_t begin = 0;         // of its windows in `ids`; there are at least as many windows as distinct n-grams
    int64_t written = 0;       // distinct n-grams
    GramNumbers numbers;       // numbers within the part
    Buffer<int32_t> global{};  // numbers within all parts; empty for the first part, where they are the same
};

std::vector<Part> split(const Captions& captions, int n, int threads, int64_t& total) {
    constexpr int64_t smallest = 4096;
    const int64_t count = captions.count();
    const int64_t parts = std::clamp<int64_t>(count / smallest, 1, threads);
    std::vector<Part> result;
    total = 0;
    for (int64_t p = 0; p < parts; ++p) {
        Part& part = result.emplace_back();
        part.first = count * p / parts;
        part.last = count * (p + 1) / parts;
        part.begin = total;
        for (int64_t c = part.first; c < part.last; ++c) {
            for (int k = 1; k <= n; ++k) total += windows(captions.length(c), k);
        }
    }
    return result;
}

// Writes the number (within the part) of every window: caption after caption, order after order.
void number_windows(const Captions& captions, int n, Part& part, int32_t* ids) {
    std::vector<int32_t> here;  // number of the gram that begins at each position, of the order at hand
    std::vector<uint64_t> hashes;
    for (int64_t c = part.first; c < part.last; ++c) {
        const int32_t* tokens = captions.begin(c);
        const int64_t length = captions.length(c);
        here.assign(length, GramNumbers::no_prefix);
        hashes.resize(length);
        for (int k = 1; k <= n; ++k) {
            const int64_t starts = windows(length, k);
            // All slots are asked for before the first is needed: the waits for memory overlap.
            for (int64_t i = 0; i < starts; ++i) {
                hashes[i] = GramNumbers::hash({here[i], tokens[i + k - 1]});
                part.numbers.expect(hashes[i]);
            }
            for (int64_t i = 0; i < starts; ++i) {
                here[i] = part.numbers.number(hashes[i], {here[i], tokens[i + k - 1]});
            }
            ids = std::copy_n(here.data(), starts, ids);
        }
    }
}

// Gives the grams of a later part their numbers among those of the first, which learns the new ones. Grams stand in
// order of first occurrence, so the numbers are what one walk over all captions would have given.
void merge(GramNumbers& all, Part& part) {
    part.global.resize(part.numbers.count());
    for (int64_t i = 0; i < part.numbers.count(); ++i) {
        GramNumbers::Gram gram = part.numbers[i];
        if (gram.prefix != GramNumbers::no_prefix) gram.prefix = part.global[gram.prefix];
        part.global[i] = all.number(GramNumbers::hash(gram), gram);
    }
    part.numbers = GramNumbers();  // done with it: give the memory back
}

// Turns the windows of each caption and order into distinct grams with counts, in place.
void count_windows(const Captions& captions, int n, Part& part, NgramCounts& result) {
    std::vector<int32_t> here, sorted;
    int64_t read = part.begin, write = part.begin;
    for (int64_t c = part.first; c < part.last; ++c) {
        sorted.resize(captions.length(c));
        for (int k = 1; k <= n; ++k) {
            const int64_t size = windows(captions.length(c), k);
            here.assign(result.ids.data() + read, result.ids.data() + read + size);
            read += size;
            if (part.global.size() > 0) {
                for (int32_t& gram : here) gram = part.global[gram];
            }
            sort_short(here.data(), size, sorted.data());
            for (int64_t i = 0; i < size; ++i) {
                if (i > 0 && sorted[i] == sorted[i - 1]) {
                    ++result.counts[write - 1];
                } else {
                    result.ids[write] = sorted[i];
                    result.counts[write++] = 1;
                }
            }
            result.offsets[c * n + k] = write;
        }
    }
    part.written = write - part.begin;
}

// Closes the gaps that repeated n-grams left between the parts.
void close_gaps(const std::vector<Part>& parts, int n, NgramCounts& result) {
    int64_t place = 0;
    for (const Part& part : parts) {
        std::memmove(result.ids.data() + place, result.ids.data() + part.begin, part.written * sizeof(int32_t));
        std::memmove(result.counts.data() + place, result.counts.data() + part.begin, part.written * sizeof(int32_t));
        for (int64_t i = part.first * n + 1; i <= part.last * n; ++i) result.offsets[i] -= part.begin - place;
        place += part.written;
    }
    result.ids.resize(place);
    result.counts.resize(place);
}

}  // namespace

NgramCounts ngrams(const Captions& captions, int n, int threads) {
    check_threads(threads);
    check_order(n);
    check(captions);

    int64_t total = 0;
    std::vector<Part> parts = split(captions, n, threads, total);
    NgramCounts result{Buffer<int32_t>(total), Buffer<int32_t>(total), Buffer<int64_t>(captions.count() * n + 1), {}};
    result.offsets[0] = 0;
    const auto each_part = [&](const auto& work) {
        for_blocks(static_cast<int64_t>(parts.size()), 1, threads, [&](int64_t p, int64_t) { work(parts[p]); });
    };
    each_part([&](Part& part) { number_windows(captions, n, part, result.ids.data() + part.begin); });
    GramNumbers& all = parts.front().numbers;
    for (size_t p = 1; p < parts.size(); ++p) merge(all, parts[p]);
    each_part([&](Part& part) { count_windows(captions, n, part, result); });
    close_gaps(parts, n, result);
    result.grams = all.spelled_out(n);
    return result;
}

Buffer<int32_t> document_frequency(View<int32_t> ids, View<int64_t> gram_offsets, int n, const ReferenceSets& sets,
                                   int64_t size, int threads) {
    check_threads(threads);
    const Grams grams{ids, ids, gram_offsets, n};
    check(grams);
    check(sets, grams.captions());
    require(size >= 0, "size must not be negative");
    require(sets.count() < INT32_MAX, "too many reference sets");
    check_range(ids, size, "ids must be below size");

    struct Seen {
        int32_t sets;
        int32_t last_set;
    };
    Buffer<int32_t> result(size);
    // Each thread walks all sets but counts only its own range of grams, so no two threads write the same place.
    const int64_t range = std::max<int64_t>(1, (size + threads - 1) / threads);
    for_blocks(size, range, threads, [&](int64_t first, int64_t last) {
        std::vector<Seen> seen(last - first, Seen{0, -1});
        for (int64_t g = 0; g < sets.count(); ++g) {
            for (int32_t caption : sets.of(g)) {
                for (int64_t i = grams.begin(caption); i < grams.end(caption); ++i) {
                    if (ids[i] < first || ids[i] >= last) continue;
                    Seen& gram = seen[ids[i] - first];
                    gram.sets += gram.last_set != g;
                    gram.last_set = static_cast<int32_t>(g);
                }
            }
        }
        for (int64_t id = first; id < last; ++id) result[id] = seen[id - first].sets;
    });
    return result;
}

}  // namespace capeval
