#include "network.hpp"

#include <cstring>
#include <numeric>

#include "avx2.hpp"
#include "heads.hpp"

namespace capeval {
namespace {

constexpr float activation_scale = 2047.0F;
constexpr int64_t block_captions = 48;  // read step by step together, so that a weight once loaded serves all

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

float leaky(float x) { return x > 0.0F ? x : 0.1F * x; }

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
        best_tree(scores, results + 1, parse_columns);
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
