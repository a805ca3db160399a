"""LECE (Cui et al. 2018): a critique that tells human captions from machine ones, given a picture or a reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn

CONTEXTS = ("image", "reference", "both")
FUSIONS = ("linear", "mlp", "bilinear")

_TOGETHER = 50  # captions that the LSTM reads together, at least


@dataclass(frozen=True)
class LeceShape:
    """What decides the weights' names and sizes."""

    context: str = "image"
    fusion: str = "mlp"
    vocabulary: int = 10_004
    word_width: int = 100
    image_width: int = 1280
    hidden: int = 512
    sketch: int = 8192

    @property
    def has_image(self) -> bool:
        return self.context in ("image", "both")

    @property
    def has_reference(self) -> bool:
        return self.context in ("reference", "both")

    @property
    def context_width(self) -> int:
        return self.hidden * (self.has_image + self.has_reference)


class Lece(nn.Module):
    """Logits [n, 2] of (machine, human) for captions in a context."""

    def __init__(self, shape: LeceShape, dropout: float = 0.5) -> None:
        super().__init__()
        if shape.context not in CONTEXTS or shape.fusion not in FUSIONS:
            raise ValueError(f"context {shape.context!r} or fusion {shape.fusion!r} does not exist")
        self.shape = shape
        self.words = nn.Embedding(shape.vocabulary, shape.word_width)
        self.lstm = nn.LSTM(shape.word_width, shape.hidden, batch_first=True)
        self.image = nn.Linear(shape.image_width, shape.hidden) if shape.has_image else None
        self.dropout = nn.Dropout(dropout)
        self.fusion = _FUSIONS[shape.fusion](shape.context_width, shape.hidden, shape.sketch, self.dropout)

    def encode(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """The LSTM's output [n, hidden] at the last token, `<eos>`, of captions [n, tokens]."""
        # Captions of like lengths together: steps after <eos> change nothing and need not be made.
        order = torch.argsort(lengths, stable=True)
        parts: list[Tensor] = []
        for rows in order.chunk(max(1, len(order) // _TOGETHER)):
            ends = lengths[rows] - 1
            outputs: Tensor = self.lstm(self.words(tokens[rows, : int(ends[-1]) + 1]))[0]
            parts.append(outputs[torch.arange(len(rows), device=rows.device), ends])
        return torch.cat(parts)[torch.argsort(order)]

    def context(self, images: Tensor | None, references: Tensor | None) -> Tensor:
        """The context [n, width] of picture vectors and encoded references, as far as the model has them."""
        parts: list[Tensor] = []
        if self.image is not None:
            if images is None:
                raise ValueError("this model needs picture vectors")
            parts.append(self.image(images))
        if self.shape.has_reference:
            if references is None:
                raise ValueError("this model needs references")
            parts.append(references)
        return torch.cat(parts, dim=1)

    def judge(self, context: Tensor, candidates: Tensor) -> Tensor:
        """Logits [n, 2] of encoded candidates in their contexts."""
        return cast(Tensor, self.fusion(self.dropout(context), self.dropout(candidates)))


class Concatenated(nn.Module):
    """Context and candidate side by side, and a linear layer."""

    def __init__(self, context: int, candidate: int, sketch: int, dropout: nn.Dropout) -> None:
        super().__init__()
        self.out = nn.Linear(context + candidate, 2)

    def forward(self, context: Tensor, candidate: Tensor) -> Tensor:
        return cast(Tensor, self.out(torch.cat([context, candidate], dim=1)))


class Perceptron(nn.Module):
    """Context and candidate side by side, a hidden layer as wide as the candidate, and a linear layer."""

    def __init__(self, context: int, candidate: int, sketch: int, dropout: nn.Dropout) -> None:
        super().__init__()
        self.hidden = nn.Linear(context + candidate, candidate)
        self.out = nn.Linear(candidate, 2)
        self.dropout = dropout

    def forward(self, context: Tensor, candidate: Tensor) -> Tensor:
        hidden = torch.relu(self.hidden(torch.cat([context, candidate], dim=1)))
        return cast(Tensor, self.out(self.dropout(hidden)))


class CompactBilinear(nn.Module):
    """Compact bilinear pooling (Gao et al. 2016) and a linear layer.

    The count sketch of the outer product of two vectors is the circular convolution of their count sketches, a product
    in the Fourier domain.
    """

    buckets_context: Tensor
    signs_context: Tensor
    buckets_candidate: Tensor
    signs_candidate: Tensor

    def __init__(self, context: int, candidate: int, sketch: int, dropout: nn.Dropout) -> None:
        super().__init__()
        self.sketch = sketch
        self.out = nn.Linear(sketch, 2)
        for name, width in (("context", context), ("candidate", candidate)):
            self.register_buffer(f"buckets_{name}", torch.randint(sketch, (width,)))
            self.register_buffer(f"signs_{name}", torch.randint(2, (width,)).float() * 2 - 1)

    def pooled(self, context: Tensor, candidate: Tensor) -> Tensor:
        """The pooled vector [n, sketch]."""
        one = count_sketch(context, self.buckets_context, self.signs_context, self.sketch)
        other = count_sketch(candidate, self.buckets_candidate, self.signs_candidate, self.sketch)
        return cast(Tensor, torch.fft.irfft(torch.fft.rfft(one) * torch.fft.rfft(other), n=self.sketch))

    def forward(self, context: Tensor, candidate: Tensor) -> Tensor:
        return cast(Tensor, self.out(self.pooled(context, candidate)))

    def form(self) -> Tensor:
        """The same layer as a bilinear form [2, context, candidate]: logit k is context' form[k] candidate + bias."""
        buckets = (self.buckets_context[:, None] + self.buckets_candidate[None, :]) % self.sketch
        signs = self.signs_context[:, None] * self.signs_candidate[None, :]
        return self.out.weight[:, buckets] * signs


def count_sketch(vectors: Tensor, buckets: Tensor, signs: Tensor, size: int) -> Tensor:
    """Numbers [n, d] added, with their signs, into `size` buckets."""
    return vectors.new_zeros(len(vectors), size).index_add(1, buckets, vectors * signs)


_FUSIONS: dict[str, type[Concatenated] | type[Perceptron] | type[CompactBilinear]] = {
    "linear": Concatenated,
    "mlp": Perceptron,
    "bilinear": CompactBilinear,
}
