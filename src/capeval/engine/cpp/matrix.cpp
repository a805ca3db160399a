#include "matrix.hpp"

#include <cstring>

#include "avx2.hpp"

namespace capeval {
namespace {

constexpr int64_t panel = 16;  // rows of a matrix that are multiplied together
constexpr int64_t rows_at_once = 6;

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

// For `width` columns, in registers.
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

}  // namespace

Packed::Packed(const IntMatrix& matrix)
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

void add_products(const float* factors, int64_t count, const float* rows, int64_t size, float* sums) {
#if CAPEVAL_X86
    if (has_avx2()) return add_products_avx2(factors, count, rows, size, sums);
#endif
    add_products_plain(factors, count, rows, size, sums);
}

}  // namespace capeval
