#include "bindings.hpp"
#include "squeeze.hpp"

namespace capeval {
namespace {

nb::object bind_squeezed(const Array& pixels, int64_t side) {
    const auto bytes = view<uint8_t>(pixels, 3, "pixels", "uint8");
    require(pixels.shape(2) == 3, "pixels must have three channels");
    const auto height = static_cast<int64_t>(pixels.shape(0)), width = static_cast<int64_t>(pixels.shape(1));
    auto found = without_gil([&] { return squeeze(bytes, height, width, side); });
    const auto extent = static_cast<size_t>(side);
    uint8_t* data = found.release();
    nb::capsule owner(data, [](void* memory) noexcept { std::free(memory); });
    return nb::cast(nb::ndarray<nb::numpy, uint8_t, nb::ndim<3>>(data, {extent, extent, 3}, owner));
}

}  // namespace

void bind_squeeze(nb::module_& module) { module.def("squeeze", &bind_squeezed, "pixels"_a, "side"_a); }

}  // namespace capeval
