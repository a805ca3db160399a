"""Parts put together so that more of a part never gives less of the whole."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Weighing(nn.Module):
    """Log odds [n] that a caption says the right thing; what the weights are made of may be negative, they are not."""

    def __init__(self, parts: int) -> None:
        super().__init__()
        # From nearly nothing, so that a part has to earn its weight.
        self.raw = nn.Parameter(torch.full((parts,), -3.0))
        self.bias = nn.Parameter(torch.zeros(()))

    @property
    def weights(self) -> Tensor:
        return F.softplus(self.raw)

    def forward(self, parts: Tensor) -> Tensor:
        return parts @ self.weights + self.bias


class Gate(nn.Module):
    """How much of a caption's score its soundness leaves, from 0 to 1: all of it, where nothing is broken."""

    def __init__(self, parts: int) -> None:
        super().__init__()
        self.raw = nn.Parameter(torch.zeros(parts))
        self.bias = nn.Parameter(torch.tensor(2.0))

    @property
    def weights(self) -> Tensor:
        return F.softplus(self.raw)

    def odds(self, parts: Tensor) -> Tensor:
        return parts @ self.weights + self.bias

    def forward(self, parts: Tensor) -> Tensor:
        # Beyond one half all sentences are alike: how fluent a sound sentence is tells nothing of its quality.
        return (2 * torch.sigmoid(self.odds(parts))).clamp(max=1)


class Unified(nn.Module):
    """Weights for each kind of input; soundness is judged alike for all."""

    def __init__(self, widths: dict[str, int], sound: int) -> None:
        super().__init__()
        self.weighings = nn.ModuleDict({name: Weighing(width) for name, width in widths.items()})
        self.gate = Gate(sound)

    def forward(self, parts: dict[str, Tensor], sound: Tensor) -> dict[str, Tensor]:
        """Scores from 0 to 1."""
        left = cast(Tensor, self.gate(sound))
        return {name: self.weighings[name](values).sigmoid() * left for name, values in parts.items()}
