// The network of the fast parser: two bidirectional LSTM layers over a caption, then tags, heads and labels.
#pragma once

#include "matrix.hpp"

namespace capeval {

struct ParserNetwork {
    View<float> inputs;  // [words, 8 * hidden]: what each word adds to the gates of the first layer, bias included
    IntMatrix hidden1;   // [8 * hidden, hidden]: gates i, f, g, o of the layer that reads forwards, then backwards
    IntMatrix input2;    // [8 * hidden, 2 * hidden]
    View<float> bias2;
    IntMatrix hidden2;
    IntMatrix output;  // [tags + 2 * arcs + 2 * parts, 2 * hidden]
    View<float> output_bias;
    View<float> arc;   // [arcs + 1, arcs]: the first row for the head alone
    View<float> root;  // [arcs + parts]: what the root has in place of a head's outputs
    View<float> label;  // [parts, labels]
    View<float> label_bias;
    int64_t tags = 0;

    int64_t words() const { return inputs.size / (8 * hidden()); }
    int64_t hidden() const { return hidden1.columns; }
    int64_t labels() const { return label_bias.size; }
    int64_t parts() const { return labels() > 0 ? label.size / labels() : 0; }
    int64_t arcs() const { return root.size - parts(); }
};

constexpr int64_t parse_columns = 3;  // tag, head (0 is the root, 1 the first word), label

Buffer<int32_t> parse_network(const Captions& captions, const ParserNetwork& network, int threads);

}  // namespace capeval
