// The grammar as the chart wants it: rules by their children, only those that the captions at hand can use.
#pragma once

#include <limits>
#include <numeric>

#include "chart.hpp"

namespace capeval {

constexpr float impossible = -std::numeric_limits<float>::infinity();

inline size_t at(int32_t number) { return static_cast<size_t>(number); }

template <class T>
struct Range {
    const T* first;
    const T* last;

    const T* begin() const { return first; }
    const T* end() const { return last; }
};

struct Binary {
    int32_t parent, left, right;
    float score;
};

struct Unary {
    int32_t parent, child;
    float score;
};

// A binary rule seen from the child that is looped over; the other child is looked up.
struct Step {
    uint16_t other, parent;
    float score;
};

struct Item {
    int32_t state;
    float score;
};

using Bits = std::vector<uint64_t>;

inline Bits no_bits(size_t size) { return Bits((size + 63) / 64, 0); }
inline void set_bit(Bits& bits, size_t bit) { bits[bit / 64] |= uint64_t{1} << (bit % 64); }
inline bool has_bit(const Bits& bits, size_t bit) { return bits[bit / 64] >> (bit % 64) & 1; }

inline bool have_common(const Bits& a, const Bits& b) {
    for (size_t i = 0; i < a.size(); ++i) {
        if (a[i] & b[i]) return true;
    }
    return false;
}

template <class T>
struct Keyed {
    int32_t key;
    T value;
};

// Lists of T, one per key, in one array. Within a list the order of insertion is kept.
template <class T>
class Lists {
public:
    Lists() = default;
    Lists(size_t keys, const std::vector<Keyed<T>>& entries) : starts_(keys + 1, 0), values_(entries.size()) {
        for (const auto& entry : entries) ++starts_[at(entry.key) + 1];
        std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
        std::vector<int32_t> next = starts_;
        for (const auto& entry : entries) values_[at(next[at(entry.key)]++)] = entry.value;
    }

    int32_t first(int32_t key) const { return starts_[at(key)]; }
    int32_t last(int32_t key) const { return starts_[at(key) + 1]; }
    Range<T> operator[](int32_t key) const { return {values_.data() + first(key), values_.data() + last(key)}; }
    size_t size() const { return values_.size(); }

private:
    std::vector<int32_t> starts_;
    std::vector<T> values_;
};

void check(const GrammarRules& rules);

// All rules of the grammar, with the unary rules closed over chains.
struct WholeGrammar {
    const GrammarRules& source;
    std::vector<Binary> binary;
    std::vector<Unary> unary;
    std::vector<Unary> closed;
    std::vector<int32_t> tag_number;  // of each state; -1: not a tag
    std::vector<Bits> first_tags;     // of each state: the tags that its first word can have

    explicit WholeGrammar(const GrammarRules& rules);

private:
    void find_first_tags();
    void close_unary();
};

// The part of the grammar that the captions at hand can use, its states numbered anew in the same order. Most captions
// have no comma, quote or bracket, and many rules wait for one.
class UsableGrammar {
public:
    UsableGrammar(const WholeGrammar& whole, std::vector<uint8_t> given_tags);

    size_t states() const { return is_tag.size(); }

    std::vector<int32_t> new_number;  // of each state of the whole grammar; -1: not usable
    int32_t root = -1, end = -1;
    std::vector<uint8_t> is_tag;
    std::vector<std::string_view> labels;

    std::vector<int32_t> place;  // where a cell's row keeps the state's score; -1: no rule looks it up
    std::vector<int32_t> state_at;  // the state, in the whole grammar's numbers, at each place of a row
    Lists<Step> by_left, by_right;  // rules whose left (right) child is looped over
    Lists<Unary> closed_by_child;
    Lists<Binary> binary_by_parent;
    Lists<Unary> unary_by_parent;
    std::vector<Binary> root_rules;  // root -> whole caption, end symbol

private:
    void number_next(const GrammarRules& rules, size_t state);
    void take_rules(const WholeGrammar& whole);
    void arrange_steps(const std::vector<Keyed<Binary>>& kept);
};

}  // namespace capeval
