"""Words found in a picture: each telling word of a caption looks for the region that bears it out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

MOST = 8
"""Words of a caption that count, those that tell most."""
_NEVER = -1e4
STRICTNESS = 4.0
"""0: the mean of how well words are borne out; the larger, the more the worst of them decides."""


@dataclass(frozen=True)
class SightWordsShape:
    """What decides the weights' names and sizes."""

    picture_width: int = 768
    region_width: int = 384
    state_width: int = 384
    inner: int = 128
    """Width of the hidden layer of a region, which knows the whole picture."""
    heard: int = 192
    """Width of the hidden layer of a word."""
    width: int = 128
    """Of the space that regions and words share."""


class Words(NamedTuple):
    """The telling words of captions."""

    vectors: Tensor
    """[n, words, width], each of length 1."""
    shares: Tensor
    """[n, words]: how much each counts, 1 in all; 0 where there is no word."""


class SightWords(nn.Module):
    """Regions and words as vectors of length 1; a word is borne out by the region with the largest cosine."""

    def __init__(self, shape: SightWordsShape, dropout: float = 0.1) -> None:
        super().__init__()
        self.shape = shape
        self.whole, self.part = nn.LayerNorm(shape.picture_width), nn.LayerNorm(shape.region_width)
        self.direct = nn.Linear(shape.region_width, shape.width)
        self.inner = nn.Linear(shape.region_width, shape.inner)
        self.around = nn.Linear(shape.picture_width, shape.inner)
        self.outer = nn.Linear(shape.inner, shape.width)
        self.picture = nn.Linear(shape.picture_width, shape.width)
        self.word = nn.LayerNorm(shape.state_width)
        self.said = nn.Linear(shape.state_width, shape.width)
        self.heard = nn.Linear(shape.state_width, shape.heard)
        self.meant = nn.Linear(shape.heard, shape.width)
        self.telling = nn.Linear(shape.state_width, 1)
        self.dropout = nn.Dropout(dropout)
        self.sharpness = nn.Parameter(torch.tensor(3.0))
        # From how well words are borne out to the log odds of "it fits".
        self.slope, self.offset = nn.Parameter(torch.tensor(8.0)), nn.Parameter(torch.tensor(-2.0))

    def look(self, vectors: Tensor, regions: Tensor) -> Tensor:
        """[n, 1 + regions, width] of pictures' vectors [n, d] and regions [n, regions, d]: the whole, then each."""
        whole, each = self.whole(vectors), self.part(regions)
        inner = F.gelu(self.inner(self.dropout(each)) + self.around(self.dropout(whole))[:, None])
        seen = torch.cat([self.picture(self.dropout(whole))[:, None], self.direct(each) + self.outer(inner)], 1)
        return F.normalize(seen, dim=-1)

    def read(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """Of captions' states [n, pieces, d]: a vector of each piece [n, pieces, width], and how telling it is."""
        each = self.word(states)
        inner = F.gelu(self.heard(self.dropout(each)))
        return F.normalize(self.said(each) + self.meant(inner), dim=-1), self.telling(each)[..., 0]

    def telling_words(self, states: Tensor, lengths: Tensor) -> Words:
        """Of captions that need not fill their row; begin and end are no words."""
        place = torch.arange(states.shape[1], device=states.device)
        is_word = (place > 0) & (place < lengths[:, None] - 1)
        # Only the most telling ones are read in full.
        telling = self.telling(self.word(states))[..., 0].float()
        found, at = telling.masked_fill(~is_word, _NEVER).topk(min(MOST, states.shape[1]), 1)
        vectors, _ = self.read(states.gather(1, at[..., None].expand(-1, -1, states.shape[2])))
        return Words(vectors, found.softmax(1) * is_word.gather(1, at))

    def logits(self, fits: Tensor) -> Tensor:
        return self.slope * fits + self.offset


def borne_out(cosines: Tensor, shares: Tensor) -> Tensor:
    """From how well each word is borne out [..., words] to how well all are; the worst count most."""
    worse = (shares * torch.exp(-STRICTNESS * cosines.float())).sum(-1)
    return -torch.log(worse.clamp(min=1e-9)) / STRICTNESS


def fits_of_pairs(seen: Tensor, words: Words) -> Tensor:
    """[n]: of picture i and caption i."""
    return borne_out((words.vectors @ seen.transpose(1, 2)).amax(-1), words.shares)


def fits_of_all(seen: Tensor, words: Words) -> Tensor:
    """[pictures, captions]"""
    count, most = words.shares.shape
    vectors = words.vectors.flatten(0, 1)
    found = []
    for some in seen.split(32):  # all at once would take gigabytes
        cosines = cast(Tensor, vectors @ some.flatten(0, 1).T).unflatten(1, (len(some), -1)).amax(-1)
        found.append(borne_out(cosines.T.unflatten(1, (count, most)), words.shares))
    return torch.cat(found)
