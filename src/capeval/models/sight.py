"""Pictures and captions in one space: a picture by its vector and by what stands out among its regions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from capeval.models.meaning import Layer


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
    """Width of the hidden layer of pictures."""
    forward: int = 768
    """Width of the hidden layer of words."""
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
        self.layer = Layer(shape.state_width, shape.forward, dropout)
        self.attention = nn.Linear(shape.state_width, 1)
        self.caption = nn.Linear(2 * shape.state_width, shape.width)
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
        hidden = None
        if lengths is not None:
            beyond = torch.arange(states.shape[1], device=states.device) >= lengths[:, None]
            hidden = beyond * torch.finfo(states.dtype).min
        found = self.layer(states, None if hidden is None else hidden[:, None, None])
        fits = self.attention(found)[..., 0]
        if hidden is not None:
            fits = fits + hidden
        said = (fits.softmax(-1)[:, None] @ found)[:, 0]
        return F.normalize(cast(Tensor, self.caption(self.dropout(torch.cat([said, found[:, 0]], -1)))), dim=-1)

    def logits(self, cosines: Tensor) -> Tensor:
        return self.slope * cosines + self.offset
