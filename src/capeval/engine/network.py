"""The network of the fast parser, in plain NumPy: what the C++ twin must compute.

Two bidirectional LSTM layers read a caption; from what they make of each word come its tag, its head and the label of
the arc between them. Weights and activations are whole numbers (an LSTM's outputs lie between -1 and 1), so that their
sums are exact: no batch, thread or machine changes a parse.
"""

from __future__ import annotations

import numpy as np

from capeval.engine.checks import check_array, check_captions, check_range, check_threads
from capeval.engine.heads import best_tree
from capeval.types import Floats, Ints, Longs, Shorts

ACTIVATION_SCALE = np.float32(2047.0)
MAX_WEIGHT = 2047
MAX_HIDDEN = 256
_MAGIC = np.float32(12582912.0)
_EXP = [1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1]


def parse_network(
    tokens: Ints,
    offsets: Longs,
    inputs: Floats,
    hidden1: Shorts,
    hidden1_scale: Floats,
    input2: Shorts,
    input2_scale: Floats,
    bias2: Floats,
    hidden2: Shorts,
    hidden2_scale: Floats,
    output: Shorts,
    output_scale: Floats,
    output_bias: Floats,
    arc: Floats,
    root: Floats,
    label: Floats,
    label_bias: Floats,
    tags: int,
    threads: int,
) -> Ints:
    """A row for each token: its tag, its head (0 is the root, 1 the first word of the caption), its label.

    `inputs` has a row for each word: what it adds to the gates of the first layer. Gates stand in the order input,
    forget, cell, output, those of the layer that reads forwards before those of the other. A weight is its whole
    number times the `scale` of its row. The rows of `output` are: tags, then what a word is as a dependent and as a
    head, for arcs and then for labels. `root` stands in for the root as a head.
    """
    check_threads(threads)
    check_captions(tokens, offsets)
    size, parts = hidden1.shape[-1], label.shape[0]
    arcs = len(root) - parts
    outputs = tags + 2 * arcs + 2 * parts
    if not 0 < size <= MAX_HIDDEN or size % 4:
        raise ValueError(f"hidden units must be a multiple of 4, at most {MAX_HIDDEN}")
    for name, matrix, scale, shape in (
        ("hidden1", hidden1, hidden1_scale, (8 * size, size)),
        ("input2", input2, input2_scale, (8 * size, 2 * size)),
        ("hidden2", hidden2, hidden2_scale, (8 * size, size)),
        ("output", output, output_scale, (outputs, 2 * size)),
    ):
        check_array(matrix, np.int16, 2, name)
        if matrix.shape != shape or len(scale) != shape[0]:
            raise ValueError(f"{name} has the wrong size")
        if np.abs(matrix.astype(np.int32)).max() > MAX_WEIGHT:
            raise ValueError(f"weights must lie within {MAX_WEIGHT}")
    if len(bias2) != 8 * size or len(output_bias) != outputs:
        raise ValueError("a bias has the wrong size")
    if arc.shape != (arcs + 1, arcs):
        raise ValueError("arc has the wrong size")
    if inputs.shape[1] != 8 * size:
        raise ValueError("inputs must have eight times the hidden units")
    check_range(tokens, len(inputs), "tokens must be rows of inputs")

    result = np.zeros((len(tokens), 3), np.int32)
    lengths = np.diff(offsets)
    for length in np.unique(lengths[lengths > 0]):
        # Captions of one length are read together: [captions, words].
        places = offsets[:-1][lengths == length, None] + np.arange(length)
        gates = inputs[tokens[places]].copy()
        first = _layer(gates, _Weights(hidden1, hidden1_scale))
        gates = _Weights(input2, input2_scale).add_to(np.broadcast_to(bias2, gates.shape), first)
        second = _layer(gates, _Weights(hidden2, hidden2_scale))
        bias = np.broadcast_to(output_bias, (*places.shape, outputs))
        made = _Weights(output, output_scale).add_to(bias, second)
        result[places, 0] = made[..., :tags].argmax(axis=-1)
        dependent, head, low, high = np.split(made[..., tags:], np.cumsum([arcs, arcs, parts]), axis=-1)
        for row, scores in zip(places, _arc_scores(dependent, head, arc, root[:arcs]), strict=True):
            result[row, 1] = best_tree(scores)
        heads = result[places, 1]
        above = np.concatenate([np.broadcast_to(root[arcs:], (len(places), 1, parts)), high], axis=1)
        both = _leaky(low + np.take_along_axis(above, heads[..., None], axis=1))
        result[places, 2] = _sums(np.broadcast_to(label_bias, (*places.shape, len(label_bias))), both, label).argmax(-1)
    return result


class _Weights:
    def __init__(self, values: Shorts, scale: Floats) -> None:
        self._values, self._scale = values.astype(np.float64).T, scale

    def part(self, begin: int, end: int) -> _Weights:
        part = object.__new__(_Weights)
        part._values, part._scale = self._values[:, begin:end], self._scale[begin:end]
        return part

    def add_to(self, start: Floats, inputs: Shorts) -> Floats:
        """Whole numbers below 2^53 are exact in double precision, whatever order BLAS sums them in."""
        sums = inputs.astype(np.float64) @ self._values
        return np.asarray(start + sums.astype(np.float32) * self._scale, np.float32)


def _layer(gates: Floats, hidden: _Weights) -> Shorts:
    """`gates` [captions, words, 8 * size] without what comes from the words before and after."""
    captions, words, width = gates.shape
    size = width // 8
    outputs = np.zeros((captions, words, 2 * size), np.int16)
    for direction in range(2):
        own = slice(direction * 4 * size, (direction + 1) * 4 * size)
        shown = slice(direction * size, (direction + 1) * size)
        weights = hidden.part(own.start, own.stop)
        state = np.zeros((captions, size), np.float32)
        order = range(words) if direction == 0 else range(words - 1, -1, -1)
        before = None
        for word in order:
            values = gates[:, word, own]
            if before is not None:
                values = weights.add_to(values, before)
            into, keep, fresh, out = np.split(values, 4, axis=-1)
            state = _sigmoid(keep) * state + _sigmoid(into) * _tanh(fresh)
            before = _nearest(_sigmoid(out) * _tanh(state) * ACTIVATION_SCALE).astype(np.int16)
            outputs[:, word, shown] = before
    return outputs


def _nearest(x: Floats) -> Floats:
    return np.asarray((x + _MAGIC) - _MAGIC)


def _sigmoid(x: Floats) -> Floats:
    """1 / (1 + e^-x), by the same operations as in C++ so that both round alike."""
    one = np.float32(1.0)
    y = np.clip(-x, np.float32(-80.0), np.float32(80.0))
    n = _nearest(y * np.float32(1.44269504))
    r = (y - n * np.float32(0.693359375)) - n * np.float32(-2.12194440e-4)
    p = np.full_like(r, np.float32(_EXP[0]))
    for factor in _EXP[1:]:
        p = p * r + np.float32(factor)
    p = (p * r) * r + r + one
    return np.asarray(one / (one + np.ldexp(p, n.astype(np.int32))))


def _tanh(x: Floats) -> Floats:
    two = np.float32(2.0)
    return np.asarray(two * _sigmoid(two * x) - np.float32(1.0))


def _leaky(x: Floats) -> Floats:
    return np.where(x > 0, x, np.float32(0.1) * x)


def _sums(start: Floats, factors: Floats, rows: Floats) -> Floats:
    """start + factors @ rows, added up in the order of the rows."""
    total = start.astype(np.float32)
    for k in range(factors.shape[-1]):
        total = total + factors[..., k, None] * rows[..., k, :]
    return total


def _arc_scores(dependent: Floats, head: Floats, arc: Floats, root: Floats) -> Floats:
    """[captions, words, words + 1]"""
    captions, words, arcs = head.shape
    heads = _leaky(np.concatenate([np.broadcast_to(root, (captions, 1, arcs)), head], axis=1))
    wanted = _sums(np.broadcast_to(arc[0], (captions, words, arcs)), _leaky(dependent), arc[1:])
    columns = np.swapaxes(heads, 1, 2)[:, None]
    return _sums(np.zeros((captions, words, words + 1), np.float32), wanted, columns)
