// Products of vectors and matrices for the network of the fast parser, in whole and in real numbers.
#pragma once

#include "common.hpp"

namespace capeval {

// A matrix in whole numbers: weight [row, column] is value * scale[row]. Activations are bounded (an LSTM's outputs lie
// between -1 and 1), so they become whole numbers too, and sums are exact: no batch, thread or machine changes them.
struct IntMatrix {
    View<int16_t> values;  // [rows, columns]
    View<float> scale;     // [rows]
    int64_t rows = 0;
    int64_t columns = 0;
};

// Weights in panels of rows, pairs of columns together: the order in which they are multiplied.
struct Packed {
    std::vector<int16_t> values;
    std::vector<float> scale;
    int64_t rows = 0;  // a multiple of the panel
    int64_t columns = 0;

    explicit Packed(const IntMatrix& matrix);
};

// outputs[i][r] += inputs[i] . row r of the matrix, for `count` inputs and the rows from `begin` to `end`, which
// are multiples of the panel; output r - begin.
void multiply(const int16_t* const* inputs, float* const* outputs, int64_t count, const Packed& matrix, int64_t begin,
              int64_t end);

// sums[j] += factors[0] * rows[0][j] + factors[1] * rows[1][j] + ...; `rows` has `count` rows of `size` columns. Each sum
// is made in the order of the rows, so that wide and narrow machines round alike.
void add_products(const float* factors, int64_t count, const float* rows, int64_t size, float* sums);

}  // namespace capeval
