"""The network of LECE: compact bilinear pooling is what it should be, captions are read to their end."""

# ruff: noqa: E402  (what needs torch is imported after asking whether it is there)

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from capeval.models.lece import CompactBilinear, Lece, LeceShape, count_sketch

DIM = 12


def test_compact_bilinear_pooling_is_the_sketch_of_the_outer_product() -> None:
    torch.manual_seed(0)
    context, candidate, size = torch.randn(5, 7), torch.randn(5, 4), 33
    layer = CompactBilinear(7, 4, size, torch.nn.Dropout(0))
    outer = (context[:, :, None] * candidate[:, None, :]).flatten(1)
    buckets = ((layer.buckets_context[:, None] + layer.buckets_candidate[None, :]) % size).flatten()
    signs = (layer.signs_context[:, None] * layer.signs_candidate[None, :]).flatten()
    expected = count_sketch(outer, buckets, signs, size)
    torch.testing.assert_close(layer.pooled(context, candidate), expected, rtol=0, atol=1e-5)
    form = torch.einsum("nc,kcd,nd->nk", context, layer.form(), candidate) + layer.out.bias
    torch.testing.assert_close(layer(context, candidate), form, rtol=0, atol=1e-5)


def test_a_sketch_keeps_inner_products_on_average() -> None:
    torch.manual_seed(0)
    one, other = torch.randn(1, 50), torch.randn(1, 50)
    found = []
    for _ in range(400):
        buckets, signs = torch.randint(256, (50,)), torch.randint(2, (50,)).float() * 2 - 1
        found.append(float((count_sketch(one, buckets, signs, 256) * count_sketch(other, buckets, signs, 256)).sum()))
    assert np.mean(found) == pytest.approx(float((one * other).sum()), abs=4 * np.std(found) / 20)


def test_the_encoding_is_that_at_the_end_of_the_caption() -> None:
    torch.manual_seed(0)
    model = Lece(LeceShape(vocabulary=20, word_width=6, image_width=DIM, hidden=8))
    tokens = torch.randint(4, 20, (130, 16))
    lengths = torch.randint(1, 17, (130,))
    together = model.encode(tokens, lengths)
    for i in (0, 1, 64, 129):
        outputs, _ = model.lstm(model.words(tokens[i : i + 1, : lengths[i]]))
        torch.testing.assert_close(together[i], outputs[0, -1], rtol=0, atol=1e-6)


@pytest.mark.parametrize(("context", "wants"), [("image", "picture"), ("reference", "references"), ("both", "picture")])
def test_a_context_that_is_missing_is_an_error(context: str, wants: str) -> None:
    model = Lece(LeceShape(context=context, vocabulary=20, word_width=6, image_width=DIM, hidden=8))
    with pytest.raises(ValueError, match=wants):
        model.context(None, None)
