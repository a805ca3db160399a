// The border to Python that all bindings share: arrays in, arrays out. Kernels check what the numbers say, these
// helpers what the arrays are.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <string_view>

#include "common.hpp"

namespace capeval {

namespace nb = nanobind;
using namespace nb::literals;

// Any dtype, shape and layout: these are checked here, because a mismatch should be a ValueError that names the array.
using Array = nb::ndarray<nb::ro, nb::device::cpu>;

template <class T>
View<T> view(const Array& array, size_t dimensions, const char* name, const char* type) {
    bool fits = array.ndim() == dimensions && array.dtype() == nb::dtype<T>();
    int64_t size = 1;
    for (size_t axis = dimensions; fits && axis-- > 0;) {
        const auto extent = static_cast<int64_t>(array.shape(axis));
        fits = array.size() == 0 || extent <= 1 || array.stride(axis) == size;  // an empty array may have any strides
        size *= extent;
    }
    const auto* data = static_cast<const T*>(array.data());
    fits = fits && (size == 0 || reinterpret_cast<uintptr_t>(data) % alignof(T) == 0);
    if (!fits) {
        const std::string shape = std::to_string(dimensions) + "-dimensional contiguous array of " + type;
        throw std::invalid_argument(std::string(name) + " must be a " + shape);
    }
    return {data, size};
}

inline View<int32_t> ints(const Array& array, const char* name) { return view<int32_t>(array, 1, name, "int32"); }
inline View<int64_t> longs(const Array& array, const char* name) { return view<int64_t>(array, 1, name, "int64"); }
inline View<double> doubles(const Array& array, const char* name) { return view<double>(array, 1, name, "float64"); }
inline View<int32_t> int_rows(const Array& array, const char* name) { return view<int32_t>(array, 2, name, "int32"); }

// The four arrays of capeval.types.Rows. They are held as long as the rows are looked at.
class RowArrays {
public:
    explicit RowArrays(const nb::tuple& rows) {
        const char* message = "rows must be four arrays: candidate, group, group_offsets, group_captions";
        require(rows.size() == 4, message);
        for (size_t i = 0; i < 4; ++i) require(nb::try_cast(rows[i], arrays_[i]), message);
    }

    Rows view() const {
        return {ints(arrays_[0], "candidate"), ints(arrays_[1], "group"),
                {longs(arrays_[2], "group_offsets"), ints(arrays_[3], "group_captions")}};
    }

private:
    Array arrays_[4];
};

template <class Compute>
auto without_gil(const Compute& compute) {
    nb::gil_scoped_release released;
    return compute();
}

// Hands the memory to NumPy, which frees it with the last array that uses it.
template <class T>
nb::object to_numpy(Buffer<T> buffer) {
    const auto size = static_cast<size_t>(buffer.size());
    T* data = buffer.release();
    nb::capsule owner(data, [](void* memory) noexcept { std::free(memory); });
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(data, {size}, owner));
}

template <class T>
nb::object to_numpy(Buffer<T> buffer, int64_t columns) {
    const auto rows = static_cast<size_t>(buffer.size() / columns);
    T* data = buffer.release();
    nb::capsule owner(data, [](void* memory) noexcept { std::free(memory); });
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<2>>(data, {rows, static_cast<size_t>(columns)}, owner));
}

// Python keeps the UTF-8 form with the string: the view is valid, without the GIL too, as long as the string lives.
inline std::string_view text_of(nb::handle text) {
    if (!nb::isinstance<nb::str>(text)) throw std::invalid_argument("texts must be strings");
    Py_ssize_t size = 0;
    const char* data = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
    if (data == nullptr) throw nb::python_error();
    return {data, static_cast<size_t>(size)};
}

inline std::vector<std::string_view> texts_of(const nb::list& texts) {
    std::vector<std::string_view> views;
    views.reserve(texts.size());
    for (const nb::handle text : texts) views.push_back(text_of(text));
    return views;
}

// Each part of the engine adds its functions to the module.
void bind_chart(nb::module_& module);
void bind_meteor(nb::module_& module);
void bind_network(nb::module_& module);
void bind_ranking(nb::module_& module);
void bind_squeeze(nb::module_& module);
void bind_rules(nb::module_& module);
void bind_scan(nb::module_& module);
void bind_scene(nb::module_& module);
void bind_scores(nb::module_& module);
void bind_transport(nb::module_& module);

}  // namespace capeval
