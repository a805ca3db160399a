"""A caption beside all of its references at once: what each word finds in them, and what of them it leaves out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

_NEVER = -1e4
_OFTEN = 10.0
"""About as many words tell something in a caption; only keeps sums near 1."""


@dataclass(frozen=True)
class AccordShape:
    """What decides the weights' names and sizes."""

    state_width: int = 384
    width: int = 128
    """Of what is known of a word."""


class Words(NamedTuple):
    """The words of captions: [n, words, ...] of candidates, [n, references, words, ...] of references."""

    vectors: Tensor
    telling: Tensor
    """How much each says; 0 where there is no word."""
    is_word: Tensor

    def rows(self, numbers: Tensor) -> Words:
        """Those of some captions, in the form of `numbers`."""
        return Words(*(_taken(each, numbers) for each in self))


class Compared(nn.Module):
    """A word beside what it has found: by themselves, by how they differ, and by what they have in common."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.own, self.found, self.apart, self.common = (
            nn.Linear(width, width, bias=not number) for number in range(4)
        )

    def forward(self, own: Tensor, found: Tensor) -> Tensor:
        told = self.own(own) + self.found(found) + self.apart((own - found).abs()) + self.common(own * found)
        return F.gelu(told)


class Accord(nn.Module):
    """Log odds that a caption belongs to its references."""

    def __init__(self, shape: AccordShape, dropout: float = 0.1) -> None:
        super().__init__()
        self.shape = shape
        width = shape.width
        self.normal = nn.LayerNorm(shape.state_width)
        self.word = nn.Linear(shape.state_width, width)
        self.telling = nn.Linear(shape.state_width, 1)
        nn.init.orthogonal_(self.word.weight)  # keeps what vectors have in common
        self.forth, self.back = Compared(width), Compared(width)
        self.dropout = nn.Dropout(dropout)
        self.judge = nn.Sequential(nn.Linear(11 * width, width), nn.GELU(), nn.Dropout(dropout), nn.Linear(width, 1))
        self.sharpness = nn.Parameter(torch.tensor(2.5))
        # From what the network gives to the log odds that people would agree.
        self.slope, self.offset = nn.Parameter(torch.tensor(1.0)), nn.Parameter(torch.tensor(0.0))

    def read(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """Of captions' states [n, pieces, d]: a vector of each piece [n, pieces, width], and how much it says."""
        each = self.normal(states)
        return self.word(each), F.softplus(self.telling(each)[..., 0])

    def words(self, states: Tensor, lengths: Tensor) -> Words:
        """Of captions that need not fill their row; begin and end are no words."""
        vectors, telling = self.read(states)
        place = torch.arange(states.shape[1], device=states.device)
        is_word = (place > 0) & (place < lengths[:, None] - 1)
        return Words(vectors, telling * is_word, is_word)

    def forward(self, candidates: Words, references: Words) -> Tensor:
        """[n]; each row needs a word, and a reference that has one."""
        own, its = candidates.vectors[:, None], references.vectors
        alike = F.normalize(own, dim=-1) @ F.normalize(its, dim=-1).transpose(-1, -2) * self.sharpness.exp()
        there, here = references.is_word[:, :, None], candidates.is_word[:, None, :, None]
        forth = self.forth(own, alike.masked_fill(~there, _NEVER).softmax(-1) @ its)
        back = self.back(its, alike.masked_fill(~here, _NEVER).softmax(-2).transpose(-1, -2) @ own)
        is_there = references.is_word.any(-1)
        telling, is_word = candidates.telling, candidates.is_word
        # What any reference bears out.
        best = forth.masked_fill(~is_there[:, :, None, None], _NEVER).amax(1)
        told = torch.cat(
            [
                _over_references(_over_words(forth, telling[:, None], is_word[:, None]), is_there),
                _over_words(best, telling, is_word),
                (best * telling[..., None]).sum(1) / _OFTEN,
                _over_references(_over_words(back, references.telling, references.is_word), is_there),
            ],
            -1,
        )
        odds: Tensor = self.judge(self.dropout(told))[:, 0]
        return odds


def _over_words(found: Tensor, telling: Tensor, is_word: Tensor) -> Tensor:
    """The mean over words by how much they say, and the largest of each number."""
    shares = telling / telling.sum(-1, keepdim=True).clamp(min=1e-6)
    largest = found.masked_fill(~is_word[..., None], _NEVER).amax(-2)
    return torch.cat([(found * shares[..., None]).sum(-2), largest], -1)


def _over_references(found: Tensor, is_there: Tensor) -> Tensor:
    """The mean over references and the largest of each number; [n, references, d] -> [n, 2 d]."""
    there = is_there[..., None]
    mean = (found * there).sum(1) / there.sum(1).clamp(min=1)
    return torch.cat([mean, found.masked_fill(~there, _NEVER).amax(1)], -1)


def _taken(values: Tensor, numbers: Tensor) -> Tensor:
    """`values[numbers]`, whose gradient is quick to compute."""
    flat = values.flatten(1).index_select(0, numbers.flatten())
    return flat.reshape(*numbers.shape, *values.shape[1:])
