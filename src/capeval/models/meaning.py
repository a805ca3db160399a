"""A sentence encoder for captions, on MiniLM: a vector of the sentence, one of each word, and how human it sounds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, TypeVar, cast

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional as F

from capeval.errors import DataError

HEAD = 32
"""Width of an attention head of MiniLM."""
PIECES = 64
"""Word pieces of a caption that are read."""
EPSILON = 1e-12


T = TypeVar("T", bound=nn.Module)


@dataclass(frozen=True)
class EncoderShape:
    """What decides the weights' names and sizes; as it is, that of MiniLM-L6."""

    width: int = 384
    layers: int = 6
    inner: int = 1536
    vocabulary: int = 30522
    word_width: int = 128


class Read(NamedTuple):
    """What the encoder makes of captions."""

    states: Tensor
    """[n, pieces, width], zeros where there is no piece."""
    sentences: Tensor
    """[n, width], each of length 1."""
    words: Tensor
    """[n, pieces, word width], each of length 1, zeros where there is no piece."""
    sounds: Tensor
    """[n]: logits of "a person would write so"."""


class Layer(nn.Module):
    """A layer of BERT, normalised after each half."""

    def __init__(self, width: int, inner: int, dropout: float) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.joined = nn.Linear(width, width)
        self.after_attention = nn.LayerNorm(width, eps=EPSILON)
        self.inner, self.outer = nn.Linear(width, inner), nn.Linear(inner, width)
        self.after = nn.LayerNorm(width, eps=EPSILON)
        self.dropout = nn.Dropout(dropout)

    def forward(self, states: Tensor, hidden: Tensor | None) -> Tensor:
        """`hidden`: [n, 1, 1, pieces], minus infinity where nothing may be looked at."""
        query, key, value = (self._heads(side(states)) for side in (self.query, self.key, self.value))
        fits = query @ key.transpose(-1, -2) / math.sqrt(HEAD)
        if hidden is not None:
            fits = fits + hidden
        seen = (fits.softmax(-1) @ value).transpose(1, 2).flatten(2)
        states = self.after_attention(states + self.dropout(self.joined(seen)))
        return cast(Tensor, self.after(states + self.dropout(self.outer(F.gelu(self.inner(states))))))

    def _heads(self, states: Tensor) -> Tensor:
        return cast(Tensor, states.unflatten(-1, (-1, HEAD))).transpose(1, 2)


class Trunk(nn.Module):
    """The layers of MiniLM. Captions are numbers of word pieces, begin and end included."""

    def __init__(self, shape: EncoderShape, dropout: float = 0.0) -> None:
        super().__init__()
        self.shape = shape
        self.pieces = nn.Embedding(shape.vocabulary, shape.width)
        self.places = nn.Embedding(PIECES, shape.width)
        self.first = nn.LayerNorm(shape.width, eps=EPSILON)
        self.layers = nn.ModuleList([Layer(shape.width, shape.inner, dropout) for _ in range(shape.layers)])

    def states(self, tokens: Tensor, lengths: Tensor | None = None) -> Tensor:
        """[n, pieces, width]; without lengths all captions fill their row."""
        states = self.first(self.pieces(tokens) + self.places.weight[: tokens.shape[1]])
        hidden = None
        if lengths is not None:
            beyond = torch.arange(tokens.shape[1], device=tokens.device) >= lengths[:, None]
            hidden = beyond[:, None, None] * torch.finfo(states.dtype).min
        for layer in self.layers:
            states = layer(states, hidden)
        return cast(Tensor, states)

    def pooled(self, tokens: Tensor, lengths: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """States, zeros where there is no piece, and their mean."""
        states = self.states(tokens, lengths).float()
        if lengths is None:
            return states, states.mean(1)
        there = (torch.arange(tokens.shape[1], device=tokens.device) < lengths[:, None])[..., None]
        states = states * there
        return states, states.sum(1) / lengths[:, None]


class Encoder(Trunk):
    """MiniLM with three heads."""

    def __init__(self, shape: EncoderShape, dropout: float = 0.0) -> None:
        super().__init__(shape, dropout)
        self.word = nn.Linear(shape.width, shape.word_width, bias=False)
        self.sound = sound_head(shape.width)
        # From a cosine to log odds of "the same", of sentences and of words.
        self.slopes = nn.Parameter(torch.tensor([8.0, 8.0]))
        self.offsets = nn.Parameter(torch.tensor([-4.0, -4.0]))

    def forward(self, tokens: Tensor, lengths: Tensor | None = None) -> Read:
        states, mean = self.pooled(tokens, lengths)
        # Words that are not there stay zeros.
        words = F.normalize(self.word(states), dim=-1)
        sounds = self.sound(torch.cat([mean, states[:, 0]], -1))[:, 0]
        return Read(states, F.normalize(mean, dim=-1), words, sounds)


def sound_head(width: int) -> nn.Sequential:
    """From the mean of states and the first one to the log odds of "a person would write so"."""
    return nn.Sequential(nn.Linear(2 * width, 128), nn.Tanh(), nn.Linear(128, 1))


def load_minilm(folder: Path, word_width: int, dropout: float = 0.0) -> Encoder:
    """An encoder with the weights of a published MiniLM (`model.safetensors`); the heads have none yet."""

    def build(shape: EncoderShape) -> Encoder:
        return Encoder(replace(shape, word_width=word_width), dropout)

    return with_minilm(build, folder)


def with_minilm(build: Callable[[EncoderShape], T], folder: Path, layers: int = 0) -> T:
    """What `build` makes, with MiniLM's weights in its trunk; of MiniLM's layers the first so many, 0: all."""
    path = folder / "model.safetensors"
    try:
        given = load_file(path)
    except (OSError, SafetensorError) as error:
        raise DataError(f"the weights of MiniLM cannot be read: {error}", file=str(path)) from None
    try:
        vocabulary, width = given["embeddings.word_embeddings.weight"].shape
        layers = layers or sum(name.endswith("intermediate.dense.weight") for name in given)
        inner = len(given["encoder.layer.0.intermediate.dense.bias"])
        made = build(EncoderShape(width, layers, inner, vocabulary))
        found = {own: given[theirs] for own, theirs in _names(layers).items()}
        # All captions are first sentences, so what marks those is part of every place.
        first = given["embeddings.token_type_embeddings.weight"][0]
        found["places.weight"] = given["embeddings.position_embeddings.weight"][:PIECES] + first
        made.load_state_dict({**made.state_dict(), **found})
    except (KeyError, RuntimeError, ValueError) as error:
        told = str(error).splitlines()[0]
        raise DataError(f"these are not the weights of MiniLM: {told}", file=str(path)) from None
    return made


def _names(layers: int) -> dict[str, str]:
    """Our names of weights, and theirs."""
    names = {
        "pieces.weight": "embeddings.word_embeddings.weight",
        "first.weight": "embeddings.LayerNorm.weight",
        "first.bias": "embeddings.LayerNorm.bias",
    }
    parts = {
        "query": "attention.self.query", "key": "attention.self.key", "value": "attention.self.value",
        "joined": "attention.output.dense", "after_attention": "attention.output.LayerNorm",
        "inner": "intermediate.dense", "outer": "output.dense", "after": "output.LayerNorm",
    }  # fmt: skip
    for layer in range(layers):
        for own, theirs in parts.items():
            for kind in ("weight", "bias"):
                names[f"layers.{layer}.{own}.{kind}"] = f"encoder.layer.{layer}.{theirs}.{kind}"
    return names
