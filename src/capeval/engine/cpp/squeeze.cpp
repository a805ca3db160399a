#include "squeeze.hpp"

#include <cmath>
#include <cstring>

#include "avx2.hpp"

namespace capeval {
namespace {

constexpr int precision = 22;
constexpr int64_t channels = 3;
// Output i is made of the inputs first[i] .. first[i] + taps - 1, those with the weights[i * taps ...]; weights beyond
// the inputs it needs are 0.
struct Weights {
    int64_t taps;
    std::vector<int64_t> first;
    std::vector<int32_t> values;
};

double cubic(double x) {
    x = std::fabs(x);
    if (x < 1.0) return (1.5 * x - 2.5) * x * x + 1.0;
    if (x < 2.0) return (((x - 5.0) * x + 8.0) * x - 4.0) * -0.5;
    return 0.0;
}

Weights weights_for(int64_t size, int64_t side) {
    const double scale = static_cast<double>(size) / static_cast<double>(side);
    const double stretch = std::max(scale, 1.0), reach = 2.0 * stretch;
    const int64_t taps = std::min(size, static_cast<int64_t>(std::ceil(reach)) * 2 + 1);
    Weights found{taps, std::vector<int64_t>(side), std::vector<int32_t>(side * taps, 0)};
    std::vector<double> exact;
    for (int64_t i = 0; i < side; ++i) {
        const double centre = (static_cast<double>(i) + 0.5) * scale;
        const int64_t begin = std::max<int64_t>(0, static_cast<int64_t>(centre - reach + 0.5));
        const int64_t end = std::min(size, static_cast<int64_t>(centre + reach + 0.5));
        exact.clear();
        double total = 0.0;
        for (int64_t x = begin; x < end; ++x) {
            exact.push_back(cubic((static_cast<double>(x) - centre + 0.5) * (1.0 / stretch)));
            total += exact.back();
        }
        // All taps must lie inside the picture: what is read with weight 0 has to be there too.
        const int64_t first = std::min(begin, size - taps);
        found.first[i] = first;
        for (int64_t x = begin; x < end; ++x) {
            const double value = exact[x - begin] / total * (1 << precision);
            found.values[i * taps + (x - first)] = static_cast<int32_t>(value < 0.0 ? value - 0.5 : value + 0.5);
        }
    }
    return found;
}

constexpr int32_t half = 1 << (precision - 1);

uint8_t rounded(int32_t sum) { return static_cast<uint8_t>(std::clamp(sum >> precision, 0, 255)); }

// One row of a picture, `size` pixels of three bytes, to `weights.first.size()` pixels.
void across_plain(const uint8_t* pixels, const Weights& weights, uint8_t* output) {
    for (size_t i = 0; i < weights.first.size(); ++i) {
        const uint8_t* from = pixels + weights.first[i] * channels;
        const int32_t* values = weights.values.data() + i * weights.taps;
        for (int64_t c = 0; c < channels; ++c) {
            int32_t sum = half;
            for (int64_t k = 0; k < weights.taps; ++k) sum += from[k * channels + c] * values[k];
            output[i * channels + c] = rounded(sum);
        }
    }
}

// One row of the result: `size` bytes, from those of `taps` rows one below the other, beginning at byte `start`.
void down_plain(const uint8_t* rows, const int32_t* values, int64_t taps, int64_t start, int64_t size,
                uint8_t* output) {
    for (int64_t x = start; x < size; ++x) {
        int32_t sum = half;
        for (int64_t k = 0; k < taps; ++k) sum += rows[k * size + x] * values[k];
        output[x] = rounded(sum);
    }
}

#if CAPEVAL_X86
// Each weight as often as a pixel has bytes, and one time more, so that two pixels are multiplied at once.
std::vector<int32_t> spread(const Weights& weights) {
    const int64_t pairs = (weights.taps + 1) / 2;
    std::vector<int32_t> found(weights.first.size() * pairs * 8, 0);
    for (size_t i = 0; i < weights.first.size(); ++i) {
        for (int64_t k = 0; k < weights.taps; ++k) {
            std::fill_n(found.begin() + i * pairs * 8 + k * 4, 4, weights.values[i * weights.taps + k]);
        }
    }
    return found;
}

// The same, two pixels at once; reads up to five bytes behind the row.
CAPEVAL_AVX2 void across_avx2(const uint8_t* pixels, const Weights& weights, const int32_t* values, uint8_t* output) {
    const __m128i apart = _mm_setr_epi8(0, 1, 2, -1, 3, 4, 5, -1, -1, -1, -1, -1, -1, -1, -1, -1);
    const __m128i bytes = _mm_setr_epi8(0, 4, 8, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
    for (size_t i = 0; i < weights.first.size(); ++i) {
        const uint8_t* from = pixels + weights.first[i] * channels;
        __m256i sums = _mm256_setzero_si256();
        for (int64_t k = 0; k < weights.taps; k += 2, values += 8) {
            const __m128i two =
                _mm_shuffle_epi8(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from + k * channels)), apart);
            const __m256i weight = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(values));
            sums = _mm256_add_epi32(sums, _mm256_mullo_epi32(_mm256_cvtepu8_epi32(two), weight));
        }
        __m128i sum = _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
        sum = _mm_srai_epi32(_mm_add_epi32(sum, _mm_set1_epi32(half)), precision);
        sum = _mm_min_epi32(_mm_max_epi32(sum, _mm_setzero_si128()), _mm_set1_epi32(255));
        const int32_t pixel = _mm_cvtsi128_si32(_mm_shuffle_epi8(sum, bytes));
        std::memcpy(output + i * channels, &pixel, channels);
    }
}

CAPEVAL_AVX2 void down_avx2(const uint8_t* rows, const int32_t* values, int64_t taps, int64_t size, uint8_t* output) {
    int64_t x = 0;
    for (; x + 8 <= size; x += 8) {
        __m256i sum = _mm256_set1_epi32(half);
        for (int64_t k = 0; k < taps; ++k) {
            const __m128i eight = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(rows + k * size + x));
            sum = _mm256_add_epi32(sum, _mm256_mullo_epi32(_mm256_cvtepu8_epi32(eight), _mm256_set1_epi32(values[k])));
        }
        sum = _mm256_srai_epi32(sum, precision);
        const __m128i words = _mm_packus_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
        _mm_storel_epi64(reinterpret_cast<__m128i*>(output + x), _mm_packus_epi16(words, words));
    }
    down_plain(rows, values, taps, x, size, output);
}
#endif

// Each of `height` rows of a picture to as many pixels as there are weights.
void squeeze_across(const uint8_t* pixels, int64_t height, int64_t width, const Weights& weights, uint8_t* output) {
    const auto size = static_cast<int64_t>(weights.first.size()) * channels;
#if CAPEVAL_X86
    if (has_avx2()) {
        const std::vector<int32_t> twice = spread(weights);
        std::vector<uint8_t> row(static_cast<size_t>(width * channels + 8), 0);  // with room behind the last pixel
        for (int64_t y = 0; y < height; ++y) {
            std::memcpy(row.data(), pixels + y * width * channels, static_cast<size_t>(width * channels));
            across_avx2(row.data(), weights, twice.data(), output + y * size);
        }
        return;
    }
#endif
    for (int64_t y = 0; y < height; ++y) across_plain(pixels + y * width * channels, weights, output + y * size);
}

// Rows of `size` bytes, one below the other, to as many rows as there are weights.
void squeeze_down(const uint8_t* pixels, int64_t size, const Weights& weights, uint8_t* output) {
    for (size_t y = 0; y < weights.first.size(); ++y) {
        const uint8_t* rows = pixels + weights.first[y] * size;
        const int32_t* values = weights.values.data() + y * weights.taps;
#if CAPEVAL_X86
        if (has_avx2()) {
            down_avx2(rows, values, weights.taps, size, output + y * size);
            continue;
        }
#endif
        down_plain(rows, values, weights.taps, 0, size, output + y * size);
    }
}

}  // namespace

Buffer<uint8_t> squeeze(View<uint8_t> pixels, int64_t height, int64_t width, int64_t side) {
    require(height >= 1 && width >= 1 && side >= 1 && side <= 4096, "a picture must have pixels, and side be 1 to 4096");
    const Weights across = weights_for(width, side), down = weights_for(height, side);
    Buffer<uint8_t> output(side * side * channels);
    if (height > side && height - side > 2 * (width - side)) {
        std::vector<uint8_t> low(static_cast<size_t>(side * width * channels));
        squeeze_down(pixels.data, width * channels, down, low.data());
        squeeze_across(low.data(), side, width, across, output.data());
    } else {
        std::vector<uint8_t> narrow(static_cast<size_t>(height * side * channels));
        squeeze_across(pixels.data, height, width, across, narrow.data());
        squeeze_down(narrow.data(), side * channels, down, output.data());
    }
    return output;
}

}  // namespace capeval
