"""Whether a person would write such a sentence: the lower layers of MiniLM, and a head."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import torch
from torch import Tensor

from capeval.models.meaning import EncoderShape, Trunk, sound_head, with_minilm


class Listener(Trunk):
    """Log odds [n] that a caption is as people write."""

    def __init__(self, shape: EncoderShape) -> None:
        super().__init__(shape)
        self.sound = sound_head(shape.width)

    def forward(self, tokens: Tensor, lengths: Tensor | None = None) -> Tensor:
        states, mean = self.pooled(tokens, lengths)
        return cast(Tensor, self.sound(torch.cat([mean, states[:, 0]], -1)))[:, 0]


def load_listener(folder: Path, layers: int) -> Listener:
    """With the weights of the lower layers of a published MiniLM; the head has none yet."""
    return with_minilm(Listener, folder, layers)
