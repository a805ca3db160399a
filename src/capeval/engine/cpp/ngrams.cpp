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

    explicit GramNumbers(int n) : n_(n) { make_slots(12); }

    static uint64_t hash(int32_t prefix, int32_t last) {
        return mix(static_cast<uint64_t>(static_cast<uint32_t>(prefix)) << 32 | static_cast<uint32_t>(last));
    }

    void expect(uint64_t hash) const { prefetch(&slots_[hash >> shift_]); }

    // The number of the gram whose k tokens begin at `tokens`.
    int32_t number(uint64_t hash, int32_t prefix, const int32_t* tokens, int k) {
        const int32_t last = tokens[k - 1];
        int64_t at = hash >> shift_;
        for (; slots_[at].gram >= 0; at = (at + 1) & mask()) {
            const Slot& slot = slots_[at];
            if (slot.prefix == prefix && slot.last == last) return slot.gram;
        }
        slots_[at] = {prefix, last, append(tokens, k)};
        if (count_ > slots_.size() / 4 * 3) grow();
        return static_cast<int32_t>(count_ - 1);
    }

    Buffer<int32_t> take_grams() {
        grams_.resize(count_ * n_);
        return std::move(grams_);
    }

private:
    struct Slot {
        int32_t prefix;
        int32_t last;
        int32_t gram;  // -1: free
    };

    int64_t mask() const { return slots_.size() - 1; }

    void make_slots(int bits) {
        slots_ = Buffer<Slot>(int64_t{1} << bits);
        std::memset(slots_.data(), 0xFF, slots_.size() * sizeof(Slot));
        shift_ = 64 - bits;
    }

    int32_t append(const int32_t* tokens, int k) {
        if (count_ == INT32_MAX) throw std::length_error("more than 2^31 distinct n-grams; score in parts");
        if ((count_ + 1) * n_ > grams_.size()) grams_.resize(std::max<int64_t>(4096, 2 * (count_ + 1) * n_));
        int32_t* gram = grams_.data() + count_ * n_;
        std::copy(tokens, tokens + k, gram);
        std::fill(gram + k, gram + n_, -1);
        return static_cast<int32_t>(count_++);
    }

    void grow() {
        Buffer<Slot> old = std::move(slots_);
        make_slots(64 - shift_ + 1);
        // The top bits of the hash choose the slot, so this walks old and new slots from front to back.
        for (int64_t i = 0; i < old.size(); ++i) {
            if (old[i].gram < 0) continue;
            int64_t at = hash(old[i].prefix, old[i].last) >> shift_;
            while (slots_[at].gram >= 0) at = (at + 1) & mask();
            slots_[at] = old[i];
        }
    }

    int n_;
    int shift_ = 0;
    int64_t count_ = 0;
    Buffer<Slot> slots_;
    Buffer<int32_t> grams_;
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

int64_t windows(const Captions& captions, int n) {
    int64_t total = 0;
    for (int64_t c = 0; c < captions.count(); ++c) {
        for (int k = 1; k <= n; ++k) total += std::max<int64_t>(0, captions.length(c) - k + 1);
    }
    return total;
}

}  // namespace

NgramCounts ngrams(const Captions& captions, int n) {
    check_order(n);
    check(captions);

    const int64_t most = windows(captions, n);
    NgramCounts result{Buffer<int32_t>(most), Buffer<int32_t>(most), Buffer<int64_t>(captions.count() * n + 1), {}};
    GramNumbers numbers(n);
    std::vector<int32_t> here;  // number of the gram that begins at each position, of the order at hand
    std::vector<int32_t> sorted;
    std::vector<uint64_t> hashes;
    int64_t written = 0;
    result.offsets[0] = 0;

    for (int64_t c = 0; c < captions.count(); ++c) {
        const int32_t* tokens = captions.begin(c);
        const int64_t length = captions.length(c);
        here.assign(length, GramNumbers::no_prefix);
        hashes.resize(length);
        sorted.resize(length);
        for (int k = 1; k <= n; ++k) {
            const int64_t starts = std::max<int64_t>(0, length - k + 1);
            // All slots are asked for before the first is needed: the waits for memory overlap.
            for (int64_t i = 0; i < starts; ++i) {
                hashes[i] = GramNumbers::hash(here[i], tokens[i + k - 1]);
                numbers.expect(hashes[i]);
            }
            for (int64_t i = 0; i < starts; ++i) here[i] = numbers.number(hashes[i], here[i], tokens + i, k);

            sort_short(here.data(), starts, sorted.data());
            for (int64_t i = 0; i < starts; ++i) {
                if (i > 0 && sorted[i] == sorted[i - 1]) {
                    ++result.counts[written - 1];
                } else {
                    result.ids[written] = sorted[i];
                    result.counts[written++] = 1;
                }
            }
            result.offsets[c * n + k] = written;
        }
    }
    result.ids.resize(written);
    result.counts.resize(written);
    result.grams = numbers.take_grams();
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

Buffer<int32_t> match_grams(View<int32_t> grams, View<int32_t> table, int64_t n, int threads) {
    check_threads(threads);
    const int64_t queries = grams.size / n, entries = table.size / n;
    require(entries <= INT32_MAX, "the table has too many rows");

    int bits = 4;
    while ((int64_t{1} << bits) < 2 * entries) ++bits;
    const int64_t mask = (int64_t{1} << bits) - 1;
    std::vector<int32_t> slots(mask + 1, -1);

    auto first_slot = [&](const int32_t* row) {
        uint64_t hash = 0;
        for (int64_t i = 0; i < n; ++i) hash = mix(hash + static_cast<uint32_t>(row[i]));
        return static_cast<int64_t>(hash >> (64 - bits));
    };
    // The slot of the equal row, else the free slot where it would go.
    auto find = [&](const int32_t* row, int64_t at) {
        while (slots[at] >= 0 && !std::equal(row, row + n, table.data + slots[at] * n)) at = (at + 1) & mask;
        return at;
    };

    for (int64_t entry = 0; entry < entries; ++entry) {
        const int32_t* row = table.data + entry * n;
        // Below -1 (padding) stand words that the vocabulary does not have: such a row can match nothing.
        if (*std::min_element(row, row + n) < -1) continue;
        const int64_t at = find(row, first_slot(row));
        if (slots[at] < 0) slots[at] = static_cast<int32_t>(entry);
    }

    Buffer<int32_t> result(queries);
    constexpr int64_t batch = 16;
    for_blocks(queries, 1 << 14, threads, [&](int64_t first, int64_t last) {
        int64_t starts[batch];
        for (int64_t begin = first; begin < last; begin += batch) {
            const int64_t many = std::min(batch, last - begin);
            for (int64_t i = 0; i < many; ++i) {
                starts[i] = first_slot(grams.data + (begin + i) * n);
                prefetch(&slots[starts[i]]);
            }
            for (int64_t i = 0; i < many; ++i) {
                if (slots[starts[i]] >= 0) prefetch(table.data + slots[starts[i]] * n);
            }
            for (int64_t i = 0; i < many; ++i) {
                result[begin + i] = slots[find(grams.data + (begin + i) * n, starts[i])];
            }
        }
    });
    return result;
}

}  // namespace capeval
