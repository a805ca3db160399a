"""LECE's two networks as ONNX: one reads captions, the other judges what was read."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn

from capeval.models.lece import CompactBilinear, Lece
from capeval.train.export import to_onnx


class _Encoder(nn.Module):
    """Captions of one length -> encodings."""

    def __init__(self, model: Lece) -> None:
        super().__init__()
        self.words, self.lstm = model.words, model.lstm

    def forward(self, tokens: Tensor) -> Tensor:
        outputs: Tensor = self.lstm(self.words(tokens))[0]
        return outputs[:, -1]


class _Critique(nn.Module):
    """Encoded captions and their context -> the probability of being human."""

    def __init__(self, model: Lece) -> None:
        super().__init__()
        self.model = model
        fusion = model.fusion
        self.form = nn.Parameter(fusion.form()) if isinstance(fusion, CompactBilinear) else None

    def forward(self, captions: Tensor, *context: Tensor) -> Tensor:
        shape = self.model.shape
        images = context[0] if shape.has_image else None
        known = self.model.context(images, context[-1] if shape.has_reference else None)
        if self.form is None:
            logits = self.model.judge(known, captions)
        else:
            # The pooling and its linear layer are one bilinear form: no Fourier transform is needed to score.
            logits = torch.stack([((known @ form) * captions).sum(1) for form in self.form], 1)
            logits = logits + self.model.fusion.out.bias
        return torch.softmax(logits, dim=1)[:, 1]


def export(model: Lece, folder: Path) -> tuple[str, ...]:
    """`encoder.onnx`: captions of one length to vectors; `critique.onnx`: these and their context to scores."""
    shape = model.shape
    to_onnx(
        _Encoder(model),
        {"tokens": torch.ones(2, 5, dtype=torch.long)},
        ["caption"],
        folder / "encoder.onnx",
        dynamic={"tokens": {1: "words"}},
        weights="float16",
    )
    inputs = {"caption": torch.zeros(2, shape.hidden)}
    if shape.has_image:
        inputs["image"] = torch.zeros(2, shape.image_width)
    if shape.has_reference:
        inputs["reference"] = torch.zeros(2, shape.hidden)
    to_onnx(_Critique(model), inputs, ["score"], folder / "critique.onnx", weights="float16")
    return "encoder.onnx", "critique.onnx"
