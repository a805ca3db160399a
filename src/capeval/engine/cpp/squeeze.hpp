// Pictures squeezed to a square.
#pragma once

#include "common.hpp"

namespace capeval {

// pixels: height * width * 3 bytes, RGB; the result has side * side * 3. See the Python twin for what is computed.
Buffer<uint8_t> squeeze(View<uint8_t> pixels, int64_t height, int64_t width, int64_t side);

}  // namespace capeval
