"""NNEval's network (Sharif et al. 2018) in torch."""

from __future__ import annotations

from itertools import pairwise
from typing import cast

import numpy as np
from torch import Tensor, nn

from capeval.types import Floats


class Nneval(nn.Module):
    """Features, each from -1 to 1, through two hidden layers to (machine, human)."""

    def __init__(self, features: int, hidden: int) -> None:
        super().__init__()
        widths = (features, hidden, hidden, 2)
        self.layers = nn.ModuleList(nn.Linear(*each) for each in pairwise(widths))
        for layer in self.linear():  # Glorot's uniform start, as in the paper
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)

    def linear(self) -> list[nn.Linear]:
        return [cast(nn.Linear, layer) for layer in self.layers]

    def forward(self, features: Tensor) -> Tensor:
        *hidden, last = self.linear()
        for layer in hidden:
            features = layer(features).relu()
        logits: Tensor = last(features)
        return logits

    def arrays(self) -> dict[str, Floats]:
        """The layers as `capeval.runtime.nneval.Network` takes them."""
        found: dict[str, Floats] = {}
        for number, layer in enumerate(self.linear(), 1):
            found[f"weights_{number}"] = np.ascontiguousarray(layer.weight.detach().cpu().numpy().T)
            found[f"bias_{number}"] = layer.bias.detach().cpu().numpy()
        return found
