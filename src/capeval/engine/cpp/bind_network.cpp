#include "bindings.hpp"
#include "network.hpp"

namespace capeval {
namespace {

IntMatrix matrix(const Array& values, const Array& scale, const char* name) {
    const View<int16_t> numbers = view<int16_t>(values, 2, name, "int16");
    return {numbers, view<float>(scale, 1, "scale", "float32"), static_cast<int64_t>(values.shape(0)),
            static_cast<int64_t>(values.shape(1))};
}

nb::object bound_parse_network(const Array& tokens, const Array& offsets, const Array& inputs, const Array& hidden1,
                               const Array& hidden1_scale, const Array& input2, const Array& input2_scale,
                               const Array& bias2, const Array& hidden2, const Array& hidden2_scale,
                               const Array& output, const Array& output_scale, const Array& output_bias,
                               const Array& arc, const Array& root, const Array& label, const Array& label_bias,
                               int64_t tags, int threads) {
    const auto floats = [](const Array& array, size_t dimensions, const char* name) {
        return view<float>(array, dimensions, name, "float32");
    };
    const Captions captions{ints(tokens, "tokens"), longs(offsets, "offsets")};
    const ParserNetwork network{floats(inputs, 2, "inputs"),
                                matrix(hidden1, hidden1_scale, "hidden1"),
                                matrix(input2, input2_scale, "input2"),
                                floats(bias2, 1, "bias2"),
                                matrix(hidden2, hidden2_scale, "hidden2"),
                                matrix(output, output_scale, "output"),
                                floats(output_bias, 1, "output_bias"),
                                floats(arc, 2, "arc"),
                                floats(root, 1, "root"),
                                floats(label, 2, "label"),
                                floats(label_bias, 1, "label_bias"),
                                tags};
    return to_numpy(without_gil([&] { return parse_network(captions, network, threads); }), parse_columns);
}

}  // namespace

void bind_network(nb::module_& module) {
    module.def("parse_network", &bound_parse_network, "tokens"_a, "offsets"_a, "inputs"_a, "hidden1"_a,
               "hidden1_scale"_a, "input2"_a, "input2_scale"_a, "bias2"_a, "hidden2"_a, "hidden2_scale"_a, "output"_a,
               "output_scale"_a, "output_bias"_a, "arc"_a, "root"_a, "label"_a, "label_bias"_a, "tags"_a, "threads"_a);
}

}  // namespace capeval
