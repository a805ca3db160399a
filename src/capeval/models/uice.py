"""UICE (Zhao et al.): how well a caption matches a picture, how human its sentence sounds, and both in one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from capeval.text.vocabulary import PAD

_TOGETHER = 64  # captions that an LSTM reads together, at least
# Where the kernels begin: distances about 1 to 2, and a kernel's value (`_EVEN`) from which on a match is likelier.
_SCALE, _SLOPE, _EVEN = 2.0, 15.0, 0.25


class Syntax(nn.Module):
    """Logits [n, steps] of "a person wrote it", after each word of sentences [n, steps] (equation 7)."""

    def __init__(self, vocabulary: int, word_width: int, hidden: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.words = nn.Embedding(vocabulary, word_width, padding_idx=PAD)
        self.lstm = nn.LSTM(word_width, hidden, batch_first=True)
        self.dropout = nn.Dropout(dropout)
        self.out = nn.Linear(hidden, 1)

    def forward(self, tokens: Tensor) -> Tensor:
        outputs: Tensor = self.lstm(self.dropout(self.words(tokens)))[0]
        return cast(Tensor, self.out(self.dropout(outputs))[..., 0])


@dataclass(frozen=True)
class SemanticShape:
    """What decides the weights' names and sizes."""

    vocabulary: int
    word_width: int = 100
    picture_width: int = 768
    hidden: int = 128
    """Width of the LSTM."""
    beside: int = 512
    """Width of the hidden layers beside the linear maps."""
    width: int = 512
    """Of the space that pictures and captions share."""
    kernels: int = 32
    kernel_width: int = 16


class Semantics(nn.Module):
    """Pictures and captions in one space, and m distance kernels there (equations 2 to 4)."""

    main: Tensor

    def __init__(self, shape: SemanticShape, main: Tensor, dropout: float = 0.2) -> None:
        """`main`: for each number of the vocabulary, how much its word counts in the mean of words."""
        super().__init__()
        self.shape = shape
        self.register_buffer("main", main)
        self.words = nn.Embedding(shape.vocabulary, shape.word_width, padding_idx=PAD)
        self.lstm = nn.LSTM(shape.word_width, shape.hidden, batch_first=True)
        self.each_word = nn.Linear(shape.word_width, shape.width)
        self.sentence = nn.Linear(2 * shape.hidden, shape.width)
        self.caption = _Mapping(shape.width, shape.beside, shape.width, dropout)
        self.picture = _Mapping(shape.picture_width, shape.beside, shape.width, dropout)
        self.dropout = nn.Dropout(dropout)
        # Each kernel begins as a part of the space, of which it sees the absolute differences.
        kernels = torch.eye(shape.width).repeat(-(-shape.kernels * shape.kernel_width // shape.width), 1)
        self.kernels = nn.Parameter(_SCALE * kernels[: shape.kernels * shape.kernel_width])
        self.out = nn.Linear(shape.kernels, 2)
        self.sharpness = nn.Parameter(torch.tensor(3.0))  # of the contrast of the first epochs, as a logarithm
        with torch.no_grad():
            sign = torch.tensor([-1.0, 1.0])
            self.out.weight.copy_((_SLOPE / shape.kernels * sign)[:, None].expand(2, shape.kernels))
            self.out.bias.copy_(-_SLOPE * _EVEN * sign)
            # The LSTM comes in when the words have been learned, and begins by changing nothing.
            self.sentence.weight.zero_()
            self.sentence.bias.zero_()

    def read(self, tokens: Tensor, lengths: Tensor, *, in_order: bool = True) -> Tensor:
        """f(s), of length 1, of captions [n, steps]. Without `in_order` the LSTM stays out: a bag of words is read."""
        if not in_order:
            return self._caption(self._bag(tokens), None)
        # Captions of like lengths together: what follows an end need not be computed.
        order = torch.argsort(lengths, stable=True)
        parts: list[Tensor] = []
        for rows in order.chunk(max(1, len(order) // _TOGETHER)):
            some = tokens[rows, : int(lengths[rows[-1]])]
            outputs: Tensor = self.lstm(self.dropout(self.words(some)))[0]
            is_word = (some != PAD)[..., None]
            mean = (outputs * is_word).sum(1) / is_word.sum(1).clamp(min=1)
            last = outputs[torch.arange(len(rows), device=rows.device), (lengths[rows] - 1).clamp(min=0)]
            parts.append(self._caption(self._bag(some), torch.cat([mean, last], 1)))
        return torch.cat(parts)[torch.argsort(order)]

    def read_alike(self, tokens: Tensor) -> Tensor:
        """f(s) of captions of one length, as scoring reads them."""
        outputs: Tensor = self.lstm(self.words(tokens))[0]
        return self._caption(self._bag(tokens), torch.cat([outputs.mean(1), outputs[:, -1]], 1))

    def _bag(self, tokens: Tensor) -> Tensor:
        """The mean of the words, in which main words count most."""
        weight = self.main[tokens]
        weight = weight / weight.sum(1, keepdim=True).clamp(min=1e-6)
        if torch.onnx.is_in_onnx_export():
            return (F.gelu(self.each_word(self.words(tokens))) * weight[..., None]).sum(1)
        # Each word once, however many captions of a batch have it.
        distinct, place = tokens.unique(return_inverse=True)
        table = F.gelu(self.each_word(self.dropout(self.words(distinct))))
        return F.embedding_bag(place, table, mode="sum", per_sample_weights=weight)

    def _caption(self, bag: Tensor, read: Tensor | None) -> Tensor:
        return unit(self.caption(bag if read is None else bag + self.sentence(self.dropout(read))))

    def look(self, pictures: Tensor) -> Tensor:
        """f(x), of length 1, of picture vectors."""
        return unit(self.picture(self.dropout(pictures)))

    def project(self, known: Tensor) -> Tensor:
        """K = T f (equation 2): [n, kernels, kernel width] of captions or pictures in the shared space."""
        return F.linear(known, self.kernels).view(-1, self.shape.kernels, self.shape.kernel_width)

    def fits(self, captions: Tensor, pictures: Tensor) -> Tensor:
        """Logits of a match of each picture with each caption, [pictures, captions], of what `project` gave."""
        distance = torch.cdist(pictures.transpose(0, 1), captions.transpose(0, 1), p=1)
        return self.judge(torch.exp(-distance).permute(1, 2, 0))

    def fit(self, captions: Tensor, pictures: Tensor) -> Tensor:
        """Logits of a match of each picture with the caption of the same row."""
        return self.judge(torch.exp(-(captions - pictures).abs().sum(2)))

    def judge(self, near: Tensor) -> Tensor:
        """The logit of the softmax over (no match, match), of the kernels' values [..., kernels]."""
        both = self.out(near)
        return cast(Tensor, both[..., 1] - both[..., 0])


class _Mapping(nn.Module):
    """A linear map with a hidden layer beside it."""

    def __init__(self, given: int, hidden: int, width: int, dropout: float) -> None:
        super().__init__()
        self.straight = nn.Linear(given, width)
        self.beside = nn.Sequential(nn.Linear(given, hidden), nn.GELU(), nn.Dropout(dropout), nn.Linear(hidden, width))

    def forward(self, given: Tensor) -> Tensor:
        return cast(Tensor, self.straight(given) + self.beside(given))


class Fusion(nn.Module):
    """One hidden layer over the two scores; the logit of the whole (equation 13)."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(2, hidden)
        self.out = nn.Linear(hidden, 1)

    def forward(self, scores: Tensor) -> Tensor:
        return cast(Tensor, self.out(torch.tanh(self.hidden(scores)))[:, 0])


def unit(vectors: Tensor) -> Tensor:
    return F.normalize(vectors, dim=-1, eps=1e-12)
