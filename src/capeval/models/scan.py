"""SCAN (Lee et al. 2018): regions of a picture and words of a caption in one space, matched by cross attention.

Everything about a pair is computed from dot products. With S the cosines of regions and words, A the attention and G
the Gram matrix of what is attended to, the cosine with the attended mean is (A * S).sum / sqrt(A G A'): no attended
vector is ever built, so all pairs of a batch cost little more than their cosines.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from capeval.text.vocabulary import PAD

I2T, T2I = DIRECTIONS = ("i2t", "t2i")

_TOGETHER = 64  # captions that are read together, at least
_CELLS = 1 << 23  # cosines of regions and words that are in memory at once
_TINY = 1e-12
_NEVER = -1e4


@dataclass(frozen=True)
class ScanShape:
    """What decides the weights' names and sizes, and how regions and words look at each other."""

    vocabulary: int
    word_width: int
    region_width: int
    width: int
    hidden: int = 0
    """Width of a hidden layer beside the linear map of regions; 0: none, as in the paper."""
    direction: str = I2T
    temperature: float = 4.0
    context: int = 0
    """Width of the picture's own vector, which each region is seen with; 0: regions alone, as in the paper."""


class Scan(nn.Module):
    """Maps words and regions to vectors of length 1."""

    def __init__(self, shape: ScanShape, dropout: float = 0.0, alone: float = 0.0) -> None:
        """`alone`: the share of pictures whose regions are seen without them in training; afterwards a picture counts
        for what is left of it in the mean."""
        super().__init__()
        if shape.direction not in DIRECTIONS:
            raise ValueError(f"direction {shape.direction!r} does not exist")
        self.shape = shape
        self.words = nn.Embedding(shape.vocabulary, shape.word_width, padding_idx=PAD)
        self.forth = nn.GRU(shape.word_width, shape.width, batch_first=True)
        self.back = nn.GRU(shape.word_width, shape.width, batch_first=True)
        self.regions = nn.Linear(shape.region_width, shape.width)
        self.inner = nn.Linear(shape.region_width, shape.hidden) if shape.hidden else None
        self.outer = nn.Linear(shape.hidden, shape.width) if shape.hidden else None
        self.context = nn.Linear(shape.context, shape.width + shape.hidden, bias=False) if shape.context else None
        self.dropout, self.alone = nn.Dropout(dropout), alone
        self.sharpness = nn.Parameter(torch.tensor(3.0))  # of the first epochs' contrast, as a logarithm

    def read(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """Vectors [n, words, width] of captions [n, words]; zeros after their ends."""
        # Captions of like lengths together: what follows an end need not be computed.
        order = torch.argsort(lengths, stable=True)
        parts: list[Tensor] = []
        for rows in order.chunk(max(1, len(order) // _TOGETHER)):
            longest = int(lengths[rows[-1]])
            known = self._read(tokens[rows, :longest], lengths[rows])
            parts.append(F.pad(known, (0, 0, 0, tokens.shape[1] - longest)))
        return torch.cat(parts)[torch.argsort(order)]

    def _read(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        given = self.dropout(self.words(tokens))
        place = torch.arange(tokens.shape[1], device=tokens.device)
        # Each caption from its last word to its first; the same exchange leads back.
        mirror = (lengths[:, None] - 1 - place).clamp(min=0)[..., None]
        reverse = self.back(given.gather(1, mirror.expand(-1, -1, given.shape[2])))[0]
        both = self.forth(given)[0] + reverse.gather(1, mirror.expand(-1, -1, self.shape.width))
        return unit(both) * (place < lengths[:, None])[..., None]

    def look(self, regions: Tensor, pictures: Tensor | None = None) -> Tensor:
        """Vectors [n, regions, width] of regions [n, regions, region width], seen with their pictures [n, context].

        For one region a picture the middle axis may be left out.
        """
        seen = self.dropout(regions)
        mapped, inner = self.regions(seen), None if self.inner is None else self.inner(seen)
        if self.context is not None:
            if pictures is None:
                raise ValueError("the vectors of the pictures are needed")
            # A layer over both side by side, without doing the picture's half again for each region.
            around = self.context(self.dropout(pictures))
            if self.training and self.alone:
                around = around * (torch.rand(len(around), 1, device=around.device) >= self.alone)
            elif self.alone:
                around = around * (1 - self.alone)  # what it is in the mean, as always with dropout
            around = around if regions.dim() == 2 else around[:, None]
            mapped = mapped + around[..., : self.shape.width]
            inner = None if inner is None else inner + around[..., self.shape.width :]
        if inner is not None and self.outer is not None:
            mapped = mapped + self.outer(self.dropout(F.gelu(inner)))
        return unit(mapped)

    def match(self, regions: Tensor, words: Tensor, lengths: Tensor) -> Tensor:
        """How well the picture of each row and the caption of the same row fit: [n], at most 1."""
        return self.match_groups(regions[:, None], words[:, None], lengths[:, None])[:, 0, 0]

    def match_all(self, regions: Tensor, words: Tensor, lengths: Tensor) -> Tensor:
        """How well every picture and every caption fit, [pictures, captions]; in bounded memory, without gradients."""
        found = regions.new_empty(len(regions), len(words))
        with torch.no_grad():
            order = torch.argsort(lengths, stable=True)
            for rows in order.split(max(1, _CELLS // (regions[..., 0].numel() * words.shape[1]))):
                some = words[rows, : int(lengths[rows[-1]])]
                found[:, rows] = self.match_groups(regions[None], some[None], lengths[None, rows])[0]
        return found

    def match_groups(self, regions: Tensor, words: Tensor, lengths: Tensor) -> Tensor:
        """How well pictures [groups, p, regions, width] and captions [groups, c, words, width] of the same group fit:
        [groups, p, c], the mean cosine of those who look with what they look at.

        Negative cosines count as 0: nothing is gained by making what does not fit ever more unlike, and the length of
        a grounding vector says how much is grounded, as TIGEr takes it.
        """
        groups, pictures, places, width = regions.shape
        captions, longest = words.shape[1:3]
        flat = regions.reshape(groups, -1, width) @ words.reshape(groups, -1, width).transpose(1, 2)
        cosines = flat.view(groups, pictures, places, captions, longest)
        is_word = torch.arange(longest, device=words.device) < lengths[..., None]
        seen = is_word[:, None, None]
        if self.shape.direction == I2T:
            # [groups, captions, pictures, regions, words]: a region looks at the words of a caption.
            attention = self._looks(cosines, seen, 2, 4).permute(0, 3, 1, 2, 4)
            fits = _with_mean(attention, cosines.permute(0, 3, 1, 2, 4), words @ words.transpose(2, 3))
            return fits.clamp(min=0).mean(3).transpose(1, 2)
        # [groups, pictures, captions, words, regions]: a word looks at the regions of a picture.
        attention = self._looks(cosines, seen, 4, 2).permute(0, 1, 3, 4, 2)
        fits = _with_mean(attention, cosines.permute(0, 1, 3, 4, 2), regions @ regions.transpose(2, 3))
        return (fits.clamp(min=0) * is_word[:, None]).sum(3) / lengths[:, None]

    def _looks(self, cosines: Tensor, is_word: Tensor, who: int, what: int) -> Tensor:
        """Which share of their look those along the axis `who` give to each along the axis `what`."""
        positive = cosines.clamp(min=0) * is_word
        sharp = positive * (self.shape.temperature * (positive.square().sum(who, keepdim=True) + _TINY).rsqrt())
        return torch.softmax(sharp.masked_fill(~is_word, _NEVER) if what == 4 else sharp, what)


def unit(vectors: Tensor) -> Tensor:
    return F.normalize(vectors, dim=-1, eps=_TINY)


def _with_mean(attention: Tensor, cosines: Tensor, gram: Tensor) -> Tensor:
    """Cosines of those who look with the mean of what they look at: [a, b, c, who], of attention and cosines
    [a, b, c, who, what] and the cosines among what is looked at [a, b, what, what].
    """
    weighted = (attention.flatten(2, 3) @ gram).view(attention.shape)
    length = (weighted * attention).sum(-1).clamp(min=_TINY).sqrt()
    return (attention * cosines).sum(-1) / length
