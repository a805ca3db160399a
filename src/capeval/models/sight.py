"""Pictures and captions in one space: a picture by its vector and by what stands out among its regions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F


@dataclass(frozen=True)
class SightShape:
    """What decides the weights' names and sizes."""

    picture_width: int = 768
    region_width: int = 384
    state_width: int = 384
    inner: int = 256
    """Width of a region, where it is attended to."""
    looks: int = 6
    """How many times the regions are looked at, each time for something else."""
    beside: int = 1024
    """Width of the hidden layer of each side."""
    hearings: int = 4
    """How many times a caption's words are listened to, each time for something else."""
    width: int = 512
    """Of the space that pictures and captions share."""


class Sight(nn.Module):
    """Both sides give vectors of length 1; how well they fit is their cosine."""

    def __init__(self, shape: SightShape, dropout: float = 0.1) -> None:
        super().__init__()
        self.shape = shape
        self.whole = nn.LayerNorm(shape.picture_width)
        self.part = nn.LayerNorm(shape.region_width)
        self.regions = nn.Linear(shape.region_width, shape.inner)
        self.standing_out = nn.Linear(shape.picture_width, shape.looks * shape.inner)
        self.seen = nn.LayerNorm(shape.looks * shape.inner)
        self.direct = nn.Linear(shape.picture_width, shape.width)
        self.inner = nn.Linear(shape.picture_width + shape.looks * shape.inner, shape.beside)
        self.outer = nn.Linear(shape.beside, shape.width)
        self.word = nn.LayerNorm(shape.state_width)
        self.attention = nn.Linear(shape.state_width, shape.hearings)
        self.sentence = nn.Linear(shape.state_width, shape.width)
        self.heard = nn.Linear((2 + shape.hearings) * shape.state_width, shape.beside)
        self.caption = nn.Linear(shape.beside, shape.width)
        self.dropout = nn.Dropout(dropout)
        self.sharpness = nn.Parameter(torch.tensor(3.0))
        # From a cosine to the log odds of "it fits".
        self.slope, self.offset = nn.Parameter(torch.tensor(8.0)), nn.Parameter(torch.tensor(-2.0))

    def look(self, vectors: Tensor, regions: Tensor) -> Tensor:
        """[n, width] of pictures' vectors [n, d] and regions [n, regions, d]."""
        shape = self.shape
        whole = self.whole(vectors)
        each = self.regions(self.part(regions))
        queries = self.standing_out(whole).unflatten(-1, (shape.looks, shape.inner))
        fits = queries @ each.transpose(1, 2) / shape.inner**0.5
        seen = self.seen((fits.softmax(-1) @ each).flatten(1))
        inner = F.gelu(self.inner(self.dropout(torch.cat([whole, seen], -1))))
        return F.normalize(self.direct(whole) + self.outer(self.dropout(inner)), dim=-1)

    def read(self, states: Tensor, lengths: Tensor | None = None) -> Tensor:
        """[n, width] of captions' states [n, pieces, d]; without lengths all captions fill their row."""
        each = self.word(states)
        fits = self.attention(each)
        if lengths is None:
            mean = each.mean(1)
        else:
            there = (torch.arange(states.shape[1], device=states.device) < lengths[:, None])[..., None]
            fits = fits.masked_fill(~there, torch.finfo(fits.dtype).min)
            mean = (each * there).sum(1) / lengths[:, None]
        heard = (fits.softmax(1).transpose(1, 2) @ each).flatten(1)
        inner = F.gelu(self.heard(self.dropout(torch.cat([mean, each[:, 0], heard], -1))))
        return F.normalize(cast(Tensor, self.sentence(mean) + self.caption(self.dropout(inner))), dim=-1)

    def logits(self, cosines: Tensor) -> Tensor:
        return self.slope * cosines + self.offset
