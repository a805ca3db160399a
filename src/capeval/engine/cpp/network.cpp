#include "network.hpp"

#include <cstring>
#include <limits>
#include <memory>
#include <numeric>

#include "avx2.hpp"

namespace capeval {
namespace {

constexpr float activation_scale = 2047.0F;
constexpr int64_t block_captions = 48;  // read step by step together, so that a weight once loaded serves all
constexpr int64_t panel = 16;           // rows of a matrix that are multiplied together
constexpr int64_t rows_at_once = 6;

// ---- whole numbers: activations times weights ----

// Weights in panels of 16 rows, pairs of columns together: the order in which they are multiplied.
struct Packed {
    std::vector<int16_t> values;
    std::vector<float> scale;
    int64_t rows = 0;  // a multiple of the panel
    int64_t columns = 0;

    explicit Packed(const IntMatrix& matrix)
        : rows((matrix.rows + panel - 1) / panel * panel), columns(matrix.columns) {
        values.assign(static_cast<size_t>(rows * columns), 0);
        scale.assign(static_cast<size_t>(rows), 0.0F);
        std::copy(matrix.scale.begin(), matrix.scale.end(), scale.begin());
        for (int64_t row = 0; row < matrix.rows; ++row) {
            int16_t* target = values.data() + row / panel * panel * columns + row % panel * 2;
            for (int64_t column = 0; column < columns; ++column) {
                target[column / 2 * panel * 2 + column % 2] = matrix.values[row * columns + column];
            }
        }
    }
};

int32_t pair_at(const int16_t* values) {
    int32_t pair;
    std::memcpy(&pair, values, sizeof pair);
    return pair;
}

// Adds what some inputs make with one panel to their outputs. Sums are whole numbers, so their order is free.
#if CAPEVAL_X86
CAPEVAL_AVX2 CAPEVAL_INLINE void add_eight_avx2(__m256i sums, const float* scale, float* output) {
    const __m256 product = _mm256_mul_ps(_mm256_cvtepi32_ps(sums), _mm256_loadu_ps(scale));
    _mm256_storeu_ps(output, _mm256_add_ps(_mm256_loadu_ps(output), product));
}

// Two sums for each of six inputs fill the registers, if they have names of their own and the compiler is kept from
// moving them (the empty `asm`): in arrays they end up in memory, which takes half as long again.
#define CAPEVAL_EACH(step) step(0) step(1) step(2) step(3) step(4) step(5)
#define CAPEVAL_BEGIN(i)                       \
    const int16_t* const input##i = inputs[i]; \
    __m256i low##i = _mm256_setzero_si256(), high##i = low##i;
#define CAPEVAL_MULTIPLY(i)                                                  \
    {                                                                        \
        const __m256i input = _mm256_set1_epi32(pair_at(input##i + 2 * k));  \
        low##i = _mm256_add_epi32(low##i, _mm256_madd_epi16(input, here));   \
        high##i = _mm256_add_epi32(high##i, _mm256_madd_epi16(input, next)); \
        asm("" : "+x"(low##i), "+x"(high##i));                               \
    }
#define CAPEVAL_END(i)                         \
    add_eight_avx2(low##i, scale, outputs[i]); \
    add_eight_avx2(high##i, scale + 8, outputs[i] + 8);

CAPEVAL_AVX2 void multiply_panel_avx2(const int16_t* const* inputs, float* const* outputs, const int16_t* weights,
                                      const float* scale, int64_t pairs) {
    CAPEVAL_EACH(CAPEVAL_BEGIN)
    for (int64_t k = 0; k < pairs; ++k) {
        const __m256i here = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(weights + k * 32));
        const __m256i next = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(weights + k * 32 + 16));
        CAPEVAL_EACH(CAPEVAL_MULTIPLY)
    }
    CAPEVAL_EACH(CAPEVAL_END)
}
#endif

void multiply_panel_plain(const int16_t* const* inputs, float* const* outputs, int64_t count, const int16_t* weights,
                          const float* scale, int64_t pairs) {
    for (int64_t i = 0; i < count; ++i) {
        int32_t sums[panel] = {};
        for (int64_t k = 0; k < pairs; ++k) {
            const int32_t one = inputs[i][2 * k], other = inputs[i][2 * k + 1];
#pragma GCC unroll 1  // unrolled, it would not become vector code
            for (int64_t j = 0; j < panel; ++j) {
                sums[j] += one * weights[k * 32 + 2 * j] + other * weights[k * 32 + 2 * j + 1];
            }
        }
        for (int64_t j = 0; j < panel; ++j) outputs[i][j] += static_cast<float>(sums[j]) * scale[j];
    }
}

// outputs[i][r] += inputs[i] . row r of the matrix, for `count` inputs and the rows from `begin` to `end`, which
// are multiples of the panel; output r - begin.
void multiply(const int16_t* const* inputs, float* const* outputs, int64_t count, const Packed& matrix, int64_t begin,
              int64_t end) {
    const int64_t pairs = matrix.columns / 2;
    for (int64_t p = begin; p < end; p += panel) {
        const int16_t* weights = matrix.values.data() + p * matrix.columns;
        const float* scale = matrix.scale.data() + p;
        for (int64_t first = 0; first < count; first += rows_at_once) {
            const int64_t some = std::min(rows_at_once, count - first);
            // Where inputs are missing the last one stands in, and what comes of it is thrown away.
            float spare[panel] = {};
            const int16_t* from[rows_at_once];
            float* to[rows_at_once];
            for (int64_t i = 0; i < rows_at_once; ++i) {
                from[i] = inputs[first + std::min(i, some - 1)];
                to[i] = i < some ? outputs[first + i] + (p - begin) : spare;
            }
#if CAPEVAL_X86
            if (has_avx2()) {
                multiply_panel_avx2(from, to, weights, scale, pairs);
                continue;
            }
#endif
            multiply_panel_plain(from, to, some, weights, scale, pairs);
        }
    }
}

// ---- the LSTM's cell ----

// Rounds to the nearest whole number, as every compiler can vectorise it.
CAPEVAL_INLINE float nearest(float x) {
    constexpr float magic = 12582912.0F;
    return (x + magic) - magic;
}

// 1 / (1 + e^-x), by the same operations as the Python twin.
CAPEVAL_INLINE float sigmoid(float x) {
    const float low = -x < -80.0F ? -80.0F : -x;
    const float y = low > 80.0F ? 80.0F : low;
    const float n = nearest(y * 1.44269504F);
    const float r = (y - n * 0.693359375F) - n * -2.12194440e-4F;
    float p = 1.9875691500e-4F;
    p = p * r + 1.3981999507e-3F;
    p = p * r + 8.3334519073e-3F;
    p = p * r + 4.1665795894e-2F;
    p = p * r + 1.6666665459e-1F;
    p = p * r + 5.0000001201e-1F;
    p = (p * r) * r + r + 1.0F;
    const int32_t bits = (static_cast<int32_t>(n) + 127) << 23;
    float power;
    std::memcpy(&power, &bits, sizeof power);
    return 1.0F / (1.0F + p * power);
}

CAPEVAL_INLINE void cell_body(const float* __restrict gates, float* __restrict state, int16_t* __restrict output,
                              int64_t size) {
    for (int64_t j = 0; j < size; ++j) {
        const float in = sigmoid(gates[j]);
        const float keep = sigmoid(gates[size + j]);
        const float fresh = 2.0F * sigmoid(2.0F * gates[2 * size + j]) - 1.0F;
        const float out = sigmoid(gates[3 * size + j]);
        const float now = keep * state[j] + in * fresh;
        state[j] = now;
        const float shown = out * (2.0F * sigmoid(2.0F * now) - 1.0F);
        output[j] = static_cast<int16_t>(static_cast<int32_t>(nearest(shown * activation_scale)));
    }
}

void cell_plain(const float* gates, float* state, int16_t* output, int64_t size) {
    cell_body(gates, state, output, size);
}

#if CAPEVAL_X86
CAPEVAL_AVX2 void cell_avx2(const float* gates, float* state, int16_t* output, int64_t size) {
    cell_body(gates, state, output, size);
}
#endif

void cell(const float* gates, float* state, int16_t* output, int64_t size) {
#if CAPEVAL_X86
    if (has_avx2()) return cell_avx2(gates, state, output, size);
#endif
    cell_plain(gates, state, output, size);
}

// ---- real numbers ----

// sums[j] += factors[0] * rows[0][j] + factors[1] * rows[1][j] + ... for `width` columns, in registers. Each sum is
// made in the order of the rows, so that wide and narrow machines round alike.
template <int width>
CAPEVAL_INLINE void add_products_body(const float* factors, int64_t count, const float* rows, int64_t stride,
                                      float* sums) {
    float kept[width];
    for (int j = 0; j < width; ++j) kept[j] = sums[j];
    for (int64_t k = 0; k < count; ++k) {
        const float factor = factors[k];
        const float* row = rows + k * stride;
        for (int j = 0; j < width; ++j) kept[j] += factor * row[j];
    }
    for (int j = 0; j < width; ++j) sums[j] = kept[j];
}

CAPEVAL_INLINE void all_products_body(const float* factors, int64_t count, const float* rows, int64_t size,
                                      float* sums) {
    int64_t j = 0;
    for (; j + 32 <= size; j += 32) add_products_body<32>(factors, count, rows + j, size, sums + j);
    for (; j + 8 <= size; j += 8) add_products_body<8>(factors, count, rows + j, size, sums + j);
    for (; j < size; ++j) add_products_body<1>(factors, count, rows + j, size, sums + j);
}

void add_products_plain(const float* factors, int64_t count, const float* rows, int64_t size, float* sums) {
    all_products_body(factors, count, rows, size, sums);
}

#if CAPEVAL_X86
CAPEVAL_AVX2 void add_products_avx2(const float* factors, int64_t count, const float* rows, int64_t size, float* sums) {
    all_products_body(factors, count, rows, size, sums);
}
#endif

// `rows` has `count` rows of `size` columns.
void add_products(const float* factors, int64_t count, const float* rows, int64_t size, float* sums) {
#if CAPEVAL_X86
    if (has_avx2()) return add_products_avx2(factors, count, rows, size, sums);
#endif
    add_products_plain(factors, count, rows, size, sums);
}

float leaky(float x) { return x > 0.0F ? x : 0.1F * x; }

// ---- heads ----

// Scores of the heads of all words: [words, words + 1].
struct ArcScores {
    std::vector<float> values;
    int64_t size = 0;

    float at(int64_t word, int64_t head) const { return values[static_cast<size_t>(word * (size + 1) + head)]; }
};

// The best head of each word; whether that makes a tree with one word under the root and no arcs that cross.
bool greedy(const ArcScores& scores, int32_t* heads, int64_t step) {
    const int64_t size = scores.size;
    int64_t roots = 0;
    std::vector<int64_t> above(static_cast<size_t>(size + 1), 0);
    for (int64_t word = 0; word < size; ++word) {
        int64_t best = -1;
        for (int64_t head = 0; head <= size; ++head) {
            if (head != word + 1 && (best < 0 || scores.at(word, head) > scores.at(word, best))) best = head;
        }
        heads[word * step] = static_cast<int32_t>(best);
        above[static_cast<size_t>(word + 1)] = best;
        roots += best == 0;
    }
    if (roots != 1) return false;
    for (int64_t word = 1; word <= size; ++word) {
        int64_t node = word;
        for (int64_t steps = 0; node != 0; ++steps) {
            if (steps > size) return false;
            node = above[static_cast<size_t>(node)];
        }
    }
    for (int64_t word = 1; word <= size; ++word) {
        const auto [left, right] = std::minmax(word, above[static_cast<size_t>(word)]);
        for (int64_t other = left + 1; other < right; ++other) {
            // All words below an arc must have their heads there too.
            const int64_t head = above[static_cast<size_t>(other)];
            if (head < left || head > right) return false;
        }
    }
    return true;
}

// The best tree without crossing arcs and with one word under the root (Eisner 1996). Node 0 is the root.
class Projective {
public:
    explicit Projective(const ArcScores& scores) : scores_(scores), nodes_(scores.size + 1) {
        const auto cells = static_cast<size_t>(nodes_ * nodes_ * 4);
        best_.assign(cells, 0.0F);
        split_.assign(cells, 0);
    }

    void solve(int32_t* heads, int64_t step) {
        // Among the words alone; the root is put on top in the end.
        for (int64_t width = 1; width < nodes_ - 1; ++width) {
            for (int64_t left = 1; left + width < nodes_; ++left) fill(left, left + width);
        }
        int64_t top = 1;
        float most = -std::numeric_limits<float>::infinity();
        for (int64_t word = 1; word < nodes_; ++word) {
            const float below = best(closed_left, 1, word) + best(closed_right, word, nodes_ - 1);
            const float score = below + scores_.at(word - 1, 0);
            if (score > most) {
                most = score;
                top = word;
            }
        }
        heads[(top - 1) * step] = 0;
        trace(closed_left, 1, top, heads, step);
        trace(closed_right, top, nodes_ - 1, heads, step);
    }

private:
    // A span is open when an arc joins its ends, closed when its head has all its words on that side. `left`: the head
    // is the right end.
    enum Kind { open_left, open_right, closed_left, closed_right };

    size_t cell(Kind kind, int64_t left, int64_t right) const {
        return static_cast<size_t>((static_cast<int64_t>(kind) * nodes_ + left) * nodes_ + right);
    }
    float best(Kind kind, int64_t left, int64_t right) const { return best_[cell(kind, left, right)]; }

    void keep(Kind kind, int64_t left, int64_t right, int64_t at, float score, bool first) {
        const size_t place = cell(kind, left, right);
        if (first || score > best_[place]) {
            best_[place] = score;
            split_[place] = at;
        }
    }

    void fill(int64_t left, int64_t right) {
        for (int64_t at = left; at < right; ++at) {
            const float inside = best(closed_right, left, at) + best(closed_left, at + 1, right);
            keep(open_left, left, right, at, inside + scores_.at(left - 1, right), at == left);
            keep(open_right, left, right, at, inside + scores_.at(right - 1, left), at == left);
        }
        for (int64_t at = left; at < right; ++at) {
            keep(closed_left, left, right, at, best(closed_left, left, at) + best(open_left, at, right), at == left);
        }
        for (int64_t at = left + 1; at <= right; ++at) {
            keep(closed_right, left, right, at, best(open_right, left, at) + best(closed_right, at, right),
                 at == left + 1);
        }
    }

    void trace(Kind kind, int64_t left, int64_t right, int32_t* heads, int64_t step) const {
        if (left == right) return;
        const int64_t at = split_[cell(kind, left, right)];
        switch (kind) {
            case open_left:
            case open_right:
                heads[((kind == open_left ? left : right) - 1) * step] =
                    static_cast<int32_t>(kind == open_left ? right : left);
                trace(closed_right, left, at, heads, step);
                trace(closed_left, at + 1, right, heads, step);
                break;
            case closed_left:
                trace(closed_left, left, at, heads, step);
                trace(open_left, at, right, heads, step);
                break;
            case closed_right:
                trace(open_right, left, at, heads, step);
                trace(closed_right, at, right, heads, step);
                break;
        }
    }

    const ArcScores& scores_;
    int64_t nodes_;
    std::vector<float> best_;
    std::vector<int64_t> split_;
};

// ---- the network ----

class Runner {
public:
    explicit Runner(const ParserNetwork& network)
        : net_(network),
          hidden1_(network.hidden1),
          input2_(network.input2),
          hidden2_(network.hidden2),
          output_(network.output) {}

    // Captions `order[begin]` to `order[end]`, longest first.
    void run(const Captions& captions, const int64_t* order, int64_t count, int32_t* results) const {
        const int64_t size = net_.hidden(), width = 8 * size;
        std::vector<int64_t> first(static_cast<size_t>(count) + 1, 0);  // where each caption's words begin
        for (int64_t c = 0; c < count; ++c) first[c + 1] = first[c] + captions.length(order[c]);
        const int64_t words = first[count];
        std::vector<const float*> start(static_cast<size_t>(words));
        for (int64_t c = 0; c < count; ++c) {
            for (int64_t i = 0; i < captions.length(order[c]); ++i) {
                start[first[c] + i] = net_.inputs.data + int64_t{captions.begin(order[c])[i]} * width;
            }
        }
        std::vector<int16_t> outputs1(static_cast<size_t>(words * 2 * size)), outputs2(outputs1.size());
        layer(first, start, nullptr, nullptr, hidden1_, outputs1.data());
        std::fill(start.begin(), start.end(), net_.bias2.data);
        layer(first, start, outputs1.data(), &input2_, hidden2_, outputs2.data());
        std::vector<float> made;
        for (int64_t c = 0, end = 1; c < count; c = end++) {
            while (end < count && first[end + 1] - first[c] <= block_captions) ++end;
            output(outputs2.data() + first[c] * 2 * size, first[end] - first[c], made);
            for (int64_t each = c; each < end; ++each) {
                decide(made.data() + (first[each] - first[c]) * output_.rows, first[each + 1] - first[each],
                       results + captions.offsets[order[each]] * parse_columns);
            }
        }
    }

private:
    // Both directions; `outputs` gets the forward ones of a word, then the backward ones. `start` has what the gates of
    // each word begin with; `below` is what the layer below made, to be multiplied by `input`, if there is one.
    void layer(const std::vector<int64_t>& first, const std::vector<const float*>& start, const int16_t* below,
               const Packed* input, const Packed& hidden, int16_t* outputs) const {
        const int64_t size = net_.hidden(), count = static_cast<int64_t>(first.size()) - 1;
        std::vector<float> state(static_cast<size_t>(count * size)), gates(static_cast<size_t>(count * 4 * size));
        const int16_t* lower[block_captions];
        const int16_t* before[block_captions];
        int16_t* now[block_captions];
        float* to[block_captions];
        for (int64_t direction = 0; direction < 2; ++direction) {
            const int64_t begin = direction * 4 * size, end = begin + 4 * size;
            std::fill(state.begin(), state.end(), 0.0F);
            int64_t active = count;
            for (int64_t step = 0;; ++step) {
                while (active > 0 && first[active] - first[active - 1] <= step) --active;
                if (active == 0) break;
                for (int64_t c = 0; c < active; ++c) {
                    const int64_t word = direction == 0 ? first[c] + step : first[c + 1] - 1 - step;
                    now[c] = outputs + word * 2 * size + direction * size;
                    before[c] = direction == 0 ? now[c] - 2 * size : now[c] + 2 * size;
                    lower[c] = below + (below != nullptr ? word * 2 * size : 0);
                    to[c] = gates.data() + c * 4 * size;
                    std::copy(start[word] + begin, start[word] + end, to[c]);
                }
                if (input != nullptr) multiply(lower, to, active, *input, begin, end);
                if (step > 0) multiply(before, to, active, hidden, begin, end);
                for (int64_t c = 0; c < active; ++c) cell(to[c], state.data() + c * size, now[c], size);
            }
        }
    }

    // What tags, heads and labels of words are made from.
    void output(const int16_t* read, int64_t words, std::vector<float>& made) const {
        made.assign(static_cast<size_t>(words * output_.rows), 0.0F);
        const int16_t* from[block_captions];
        float* to[block_captions];
        for (int64_t begin = 0; begin < words; begin += block_captions) {
            const int64_t count = std::min(block_captions, words - begin);
            for (int64_t i = 0; i < count; ++i) {
                from[i] = read + (begin + i) * output_.columns;
                to[i] = made.data() + (begin + i) * output_.rows;
                std::copy(net_.output_bias.begin(), net_.output_bias.end(), to[i]);
            }
            multiply(from, to, count, output_, 0, output_.rows);
        }
    }

    // Tags, heads and labels of one caption from the outputs of its words.
    void decide(const float* made, int64_t words, int32_t* results) const {
        if (words == 0) return;
        const int64_t arcs = net_.arcs(), parts = net_.parts(), width = output_.rows;
        for (int64_t i = 0; i < words; ++i) {
            const float* own = made + i * width;
            results[i * parse_columns] = static_cast<int32_t>(std::max_element(own, own + net_.tags) - own);
        }
        const ArcScores scores = arc_scores(made, words);
        if (!greedy(scores, results + 1, parse_columns)) Projective(scores).solve(results + 1, parse_columns);
        const int64_t dependent = net_.tags + 2 * arcs, head = dependent + parts;
        std::vector<float> both(static_cast<size_t>(parts)), labels(static_cast<size_t>(net_.labels()));
        for (int64_t i = 0; i < words; ++i) {
            const int32_t above = results[i * parse_columns + 1];
            const float* one = made + i * width + dependent;
            const float* other = above == 0 ? net_.root.data + arcs : made + (above - 1) * width + head;
            for (int64_t k = 0; k < parts; ++k) both[static_cast<size_t>(k)] = leaky(one[k] + other[k]);
            std::copy(net_.label_bias.begin(), net_.label_bias.end(), labels.begin());
            add_products(both.data(), parts, net_.label.data, net_.labels(), labels.data());
            results[i * parse_columns + 2] =
                static_cast<int32_t>(std::max_element(labels.begin(), labels.end()) - labels.begin());
        }
    }

    ArcScores arc_scores(const float* made, int64_t words) const {
        const int64_t arcs = net_.arcs(), width = output_.rows;
        // The heads' outputs, a column for each head, so that one dependent meets all heads at once.
        std::vector<float> heads(static_cast<size_t>(arcs * (words + 1)));
        for (int64_t k = 0; k < arcs; ++k) {
            float* row = heads.data() + k * (words + 1);
            row[0] = leaky(net_.root[k]);
            for (int64_t i = 0; i < words; ++i) row[i + 1] = leaky(made[i * width + net_.tags + arcs + k]);
        }
        ArcScores scores{std::vector<float>(static_cast<size_t>(words * (words + 1)), 0.0F), words};
        std::vector<float> own(static_cast<size_t>(arcs)), wanted(own.size());
        for (int64_t i = 0; i < words; ++i) {
            for (int64_t k = 0; k < arcs; ++k) own[static_cast<size_t>(k)] = leaky(made[i * width + net_.tags + k]);
            std::copy(net_.arc.data, net_.arc.data + arcs, wanted.begin());
            add_products(own.data(), arcs, net_.arc.data + arcs, arcs, wanted.data());
            add_products(wanted.data(), arcs, heads.data(), words + 1, scores.values.data() + i * (words + 1));
        }
        return scores;
    }

    const ParserNetwork& net_;
    Packed hidden1_, input2_, hidden2_, output_;
};

void check(const IntMatrix& matrix, int64_t rows, int64_t columns, const char* message) {
    require(matrix.rows == rows && matrix.columns == columns, message);
    require(matrix.values.size == rows * columns && matrix.scale.size == rows, message);
    for (const int16_t value : matrix.values) require(value >= -2047 && value <= 2047, "weights must lie within 2047");
}

void check(const ParserNetwork& network) {
    const int64_t size = network.hidden(), labels = network.labels();
    require(size > 0 && size % 4 == 0 && size <= 256, "hidden units must be a multiple of 4, at most 256");
    require(labels > 0 && network.label.size % labels == 0, "label must have a row for each part");
    require(network.tags > 0 && network.arcs() > 0, "root must hold arcs and parts");
    require(network.inputs.size % (8 * size) == 0, "inputs must have eight times the hidden units");
    check(network.hidden1, 8 * size, size, "hidden1 has the wrong size");
    check(network.input2, 8 * size, 2 * size, "input2 has the wrong size");
    check(network.hidden2, 8 * size, size, "hidden2 has the wrong size");
    const int64_t outputs = network.tags + 2 * network.arcs() + 2 * network.parts();
    check(network.output, outputs, 2 * size, "output has the wrong size");
    require(network.bias2.size == 8 * size && network.output_bias.size == outputs, "a bias has the wrong size");
    require(network.arc.size == (network.arcs() + 1) * network.arcs(), "arc has the wrong size");
}

}  // namespace

Buffer<int32_t> parse_network(const Captions& captions, const ParserNetwork& network, int threads) {
    check_threads(threads);
    check(captions);
    check(network);
    check_range(captions.tokens, network.words(), "tokens must be rows of inputs");
    Buffer<int32_t> results(captions.tokens.size * parse_columns);
    std::vector<int64_t> order(static_cast<size_t>(captions.count()));
    std::iota(order.begin(), order.end(), int64_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t a, int64_t b) { return captions.length(a) > captions.length(b); });
    const Runner runner(network);
    for_blocks(captions.count(), block_captions, threads, [&](int64_t begin, int64_t end) {
        runner.run(captions, order.data() + begin, end - begin, results.data());
    });
    return results;
}

}  // namespace capeval
