// What all kernels share: views on the caller's arrays, growing buffers, checks, and the split over threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace capeval {

constexpr int max_order = 9;

// Turned into ValueError at the border to Python.
inline void require(bool holds, const char* message) {
    if (!holds) throw std::invalid_argument(message);
}

template <class T>
struct View {
    const T* data = nullptr;
    int64_t size = 0;

    T operator[](int64_t i) const { return data[i]; }
    const T* begin() const { return data; }
    const T* end() const { return data + size; }
};

// Plain memory for results. Unlike std::vector it can grow and shrink without holding two copies (realloc moves
// pages, not bytes, when the block is large), leaves its memory untouched until written, and can be handed to Python.
template <class T>
class Buffer {
    static_assert(std::is_trivially_copyable_v<T>);

public:
    Buffer() = default;
    explicit Buffer(int64_t size) { resize(size); }
    Buffer(Buffer&& other) noexcept : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
    Buffer& operator=(Buffer&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        return *this;
    }
    ~Buffer() { std::free(data_); }

    void resize(int64_t size) {
        void* moved = std::realloc(data_, std::max<size_t>(1, static_cast<size_t>(size) * sizeof(T)));
        if (moved == nullptr) throw std::bad_alloc();
        data_ = static_cast<T*>(moved);
        size_ = size;
    }

    // The caller must std::free the memory.
    T* release() {
        size_ = 0;
        return std::exchange(data_, nullptr);
    }

    int64_t size() const { return size_; }
    T* data() { return data_; }
    T& operator[](int64_t i) { return data_[i]; }
    const T& operator[](int64_t i) const { return data_[i]; }

private:
    T* data_ = nullptr;
    int64_t size_ = 0;
};

// A growing array whose new elements are written by the caller, past its end, before they are counted. Unlike a
// vector's push_back this needs no branch for each element.
template <class T>
class Pile {
public:
    void clear() { size_ = 0; }
    size_t size() const { return size_; }
    T* data() { return buffer_.data(); }
    const T* data() const { return &buffer_[0]; }

    // Room for that many more, to be written from the returned place on.
    T* room(size_t more) {
        if (size_ + more > static_cast<size_t>(buffer_.size())) {
            buffer_.resize(static_cast<int64_t>(2 * (size_ + more)));
        }
        return buffer_.data() + size_;
    }
    void grow_to(const T* end) { size_ = static_cast<size_t>(end - buffer_.data()); }

private:
    Buffer<T> buffer_;
    size_t size_ = 0;
};

// Calls work(begin, end) on blocks of rows. Threads take the next block when they are done with one, so rows of
// uneven cost balance. Each row writes only its own results: their values cannot depend on who computed them.
template <class Work>
void for_blocks(int64_t rows, int64_t block, int threads, const Work& work) {
    const int64_t blocks = (rows + block - 1) / block;
    std::atomic<int64_t> next{0};
    std::exception_ptr failure;
    std::mutex failure_lock;

    auto take_blocks = [&] {
        try {
            for (int64_t b = next++; b < blocks; b = next++) work(b * block, std::min(rows, (b + 1) * block));
        } catch (...) {
            next = blocks;
            std::lock_guard<std::mutex> held(failure_lock);
            if (!failure) failure = std::current_exception();
        }
    };

    std::vector<std::thread> helpers;
    const int64_t wanted = std::min<int64_t>(threads, blocks) - 1;
    try {
        for (int64_t i = 0; i < wanted; ++i) helpers.emplace_back(take_blocks);
    } catch (const std::system_error&) {
        // The system gives no more threads: those that started, and this one, do the work.
    }
    take_blocks();
    for (auto& helper : helpers) helper.join();
    if (failure) std::rethrow_exception(failure);
}

inline void prefetch(const void* address) {
#if defined(__GNUC__) || defined(__clang__)
    __builtin_prefetch(address);
#else
    (void)address;
#endif
}

// Caption c is tokens[offsets[c]] .. tokens[offsets[c + 1]].
struct Captions {
    View<int32_t> tokens;
    View<int64_t> offsets;

    int64_t count() const { return offsets.size - 1; }
    int64_t length(int64_t c) const { return offsets[c + 1] - offsets[c]; }
    const int32_t* begin(int64_t c) const { return tokens.data + offsets[c]; }
};

// The distinct n-grams of caption c and order k are ids[offsets[c * n + k - 1]] .. ids[offsets[c * n + k]], ascending.
struct Grams {
    View<int32_t> ids;
    View<int32_t> counts;
    View<int64_t> offsets;
    int n;

    int64_t captions() const { return (offsets.size - 1) / n; }
    int64_t begin(int64_t c, int k = 1) const { return offsets[c * n + k - 1]; }
    int64_t end(int64_t c, int k) const { return offsets[c * n + k]; }
    int64_t end(int64_t c) const { return end(c, n); }
};

struct ReferenceSets {
    View<int64_t> offsets;
    View<int32_t> captions;

    int64_t count() const { return offsets.size - 1; }
    View<int32_t> of(int64_t g) const { return {captions.data + offsets[g], offsets[g + 1] - offsets[g]}; }
};

// One candidate caption and the reference set it is judged by.
struct Rows {
    View<int32_t> candidate;
    View<int32_t> group;
    ReferenceSets sets;

    int64_t count() const { return candidate.size; }
    View<int32_t> references(int64_t row) const { return sets.of(group[row]); }
};

inline void check_threads(int threads) { require(threads >= 1, "threads must be at least 1"); }

inline void check_order(int n) { require(n >= 1 && n <= max_order, "n must be from 1 to 9"); }

inline void check_range(View<int32_t> values, int64_t size, const char* message) {
    // Seen as unsigned, a negative number is a large one: one maximum finds both faults, and it vectorises.
    uint32_t largest = 0;
    for (int32_t value : values) largest = std::max(largest, static_cast<uint32_t>(value));
    require(values.size == 0 || static_cast<int64_t>(largest) < size, message);
}

inline void check_offsets(View<int64_t> offsets, int64_t total, const char* message) {
    require(offsets.size >= 1 && offsets[0] == 0 && offsets[offsets.size - 1] == total, message);
    require(std::is_sorted(offsets.begin(), offsets.end()), message);
}

inline void check(const Captions& captions) {
    check_offsets(captions.offsets, captions.tokens.size, "offsets must rise from 0 to the number of tokens");
    require(captions.count() <= INT32_MAX, "too many captions");
    check_range(captions.tokens, int64_t{INT32_MAX} + 1, "tokens must not be negative");
}

inline void check(const Grams& grams) {
    check_order(grams.n);
    require(grams.ids.size == grams.counts.size, "ids and counts differ in length");
    check_offsets(grams.offsets, grams.ids.size, "gram_offsets must rise from 0 to the number of ids");
    require((grams.offsets.size - 1) % grams.n == 0, "gram_offsets must have n entries per caption, and one more");
}

inline void check(const ReferenceSets& sets, int64_t captions) {
    check_offsets(sets.offsets, sets.captions.size, "group_offsets must rise from 0 to the number of group_captions");
    check_range(sets.captions, captions, "group_captions must be indices of captions");
}

inline void check(const Rows& rows, int64_t captions) {
    require(rows.candidate.size == rows.group.size, "candidate and group differ in length");
    check(rows.sets, captions);
    check_range(rows.candidate, captions, "candidate must hold indices of captions");
    check_range(rows.group, rows.sets.count(), "group must hold indices of reference sets");
}

}  // namespace capeval
