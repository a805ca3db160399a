"""Parts put together so that more of a part never gives less of the whole."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Monotone(nn.Module):
    """Logits [n] of rows of parts [n, parts]; what the weights are made of may be negative, they are not."""

    def __init__(self, parts: int, hidden: int) -> None:
        super().__init__()
        self.raw = nn.Parameter(torch.randn(parts, hidden) * 0.5 - 1.5)
        self.bias = nn.Parameter(torch.linspace(-1.5, 1.5, hidden))
        self.raw_out = nn.Parameter(torch.zeros(hidden))
        self.out_bias = nn.Parameter(torch.zeros(()))

    @property
    def weights(self) -> Tensor:
        return F.softplus(self.raw)

    @property
    def out(self) -> Tensor:
        return F.softplus(self.raw_out)

    def forward(self, parts: Tensor) -> Tensor:
        return torch.tanh(parts @ self.weights + self.bias) @ self.out + self.out_bias


class Unified(nn.Module):
    """A network for each kind of input."""

    def __init__(self, widths: dict[str, int], hidden: int) -> None:
        super().__init__()
        self.networks = nn.ModuleDict({name: Monotone(width, hidden) for name, width in widths.items()})

    def forward(self, parts: dict[str, Tensor]) -> dict[str, Tensor]:
        return {name: self.networks[name](values) for name, values in parts.items()}
