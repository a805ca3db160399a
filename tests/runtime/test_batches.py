"""Blocks of rows for networks: what a caption is read as does not depend on what is read with it."""

from __future__ import annotations

import numpy as np
import pytest

from capeval.runtime.batches import few


@pytest.mark.parametrize(("count", "size"), [(1, 2), (2, 2), (3, 4), (4, 4), (5, 8), (9, 16), (16, 16)])
def test_few_rows_are_filled_up_to_a_power_of_two(count: int, size: int) -> None:
    found = few(np.arange(count) + 7, 16)
    assert found.tolist() == [*range(7, 7 + count), *[7] * (size - count)]


TEXTS = [
    text.split()
    for text in (
        "a man rides a bike", "two dogs run on grass", "a red bus in town", "a cat on a mat",
        "a man in a hat is holding an umbrella over two children who wait for a bus", "dog", "",
    )
]  # fmt: skip


def test_the_sentence_encoder_reads_a_caption_alone_as_among_others() -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("capeval_models_unified")
    from capeval.runtime.meaning import open_meaning

    encoder = open_meaning()
    many = [words for _ in range(5) for words in TEXTS]
    together = encoder.read(many)
    for number, words in enumerate(TEXTS):
        for count in (1, 2, 3, 5):
            alone = encoder.read([words] * count)
            assert np.array_equal(alone.sentences[-1], together.sentences[number])
            mine, its = slice(*alone.offsets[:2]), slice(*together.offsets[number : number + 2])
            assert np.array_equal(alone.words[mine], together.words[its])


def test_fluency_hears_a_caption_alone_as_among_others() -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("capeval_models_unified")
    from capeval.runtime.fluency import open_fluency

    network = open_fluency()
    together = network.scores([words for _ in range(5) for words in TEXTS], threads=2)
    assert together[0] > 0 == together[len(TEXTS) - 1]
    for number, words in enumerate(TEXTS):
        for count in (1, 2, 3, 5):
            assert network.scores([words] * count)[-1] == together[number]


def test_what_was_read_in_parts_is_what_is_read_at_once() -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("capeval_models_unified")
    from capeval.runtime.meaning import Readings, open_meaning

    encoder = open_meaning()
    whole, asked = encoder.read(TEXTS), []

    def texts(numbers: np.ndarray) -> list[list[str]]:
        asked.extend(numbers.tolist())
        return [TEXTS[number] for number in numbers.tolist()]

    readings = Readings(encoder, len(TEXTS))
    readings.of(np.array([3, 0]), texts, 1)
    read, place = readings.of(np.arange(len(TEXTS)), texts, 1)
    assert sorted(asked) == list(range(len(TEXTS)))  # each once
    assert np.array_equal(read.sentences[place], whole.sentences)
    for number, own in enumerate(place.tolist()):
        mine, its = slice(*read.offsets[own : own + 2]), slice(*whole.offsets[number : number + 2])
        assert np.array_equal(read.words[mine], whole.words[its])
        assert np.array_equal(read.weights[mine], whole.weights[its])


def test_the_syntactic_module_judges_a_caption_alone_as_among_others() -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("capeval_models")
    from capeval.runtime.uice import open_syntax, style_source

    syntax = open_syntax(style_source("photo"))
    together = syntax.judge(TEXTS * 6)
    alone = [float(syntax.judge([words])[0]) for words in TEXTS]
    assert alone == together[: len(TEXTS)].tolist()
    assert syntax.steps(TEXTS[0])[-1] == alone[0]
