"""DINOv2 ViT-S/14 in torch, with the weights that tools/build_dinov2.py reads: what our encoder is measured against."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from build_dinov2 import BLOCKS, GRID, HEADS, MEAN, PATCH, STD, WIDTH, places


class Vit(torch.nn.Module):
    def __init__(self, weights: dict[str, Any]) -> None:
        super().__init__()
        self.weights = {name: torch.from_numpy(np.ascontiguousarray(each)).float() for name, each in weights.items()}
        self.places = torch.from_numpy(np.concatenate([weights["cls_token"][0], places(weights)])).float()
        self.mean, self.std = (torch.tensor(each).float()[:, None, None] for each in (MEAN, STD))

    def forward(self, pictures: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Vectors [n, 768] and regions [n, 64, 384] of pictures [n, 3, 224, 224] from 0 to 255."""
        known = self.weights
        x = F.conv2d(
            (pictures / 255 - self.mean) / self.std,
            known["patch_embed.proj.weight"],
            known["patch_embed.proj.bias"],
            stride=PATCH,
        )
        x = x.flatten(2).transpose(1, 2)
        x = torch.cat([known["cls_token"].expand(len(x), -1, -1), x], 1) + self.places
        for number in range(BLOCKS):
            x = x + self.attention(self.norm(x, f"blocks.{number}.norm1"), number) * known[f"blocks.{number}.ls1.gamma"]
            x = x + self.thought(self.norm(x, f"blocks.{number}.norm2"), number) * known[f"blocks.{number}.ls2.gamma"]
        x = self.norm(x, "norm")
        cells = x[:, 1:].reshape(-1, GRID // 2, 2, GRID // 2, 2, WIDTH).mean((2, 4)).flatten(1, 2)
        return torch.cat([x[:, 0], x[:, 1:].mean(1)], 1), cells

    def norm(self, x: torch.Tensor, name: str) -> torch.Tensor:
        return F.layer_norm(x, (WIDTH,), self.weights[f"{name}.weight"], self.weights[f"{name}.bias"], 1e-6)

    def linear(self, x: torch.Tensor, number: int, name: str) -> torch.Tensor:
        bias = self.weights[f"blocks.{number}.{name.replace('/', '.')}.bias"]
        return torch.matmul(x, self.weights[f"{number}/{name}"]) + bias

    def attention(self, x: torch.Tensor, number: int) -> torch.Tensor:
        heads = self.linear(x, number, "attn/qkv").unflatten(2, (3, HEADS, WIDTH // HEADS)).permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(*heads)
        return self.linear(seen.transpose(1, 2).flatten(2), number, "attn/proj")

    def thought(self, x: torch.Tensor, number: int) -> torch.Tensor:
        return self.linear(F.gelu(self.linear(x, number, "mlp/fc1")), number, "mlp/fc2")
