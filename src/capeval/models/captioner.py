"""Show and Tell (Vinyals et al. 2015): the picture is the first input of an LSTM that then says the caption."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn

from capeval.text.vocabulary import BOS, PAD, UNK

NEVER = -1e4
"""Added to the score of what is no word of a caption; exp of it is zero."""


class Captioner(nn.Module):
    """A picture's vector and the words so far -> the next word."""

    def __init__(self, pictures: int, vocabulary: int, words: int, hidden: int, dropout: float) -> None:
        """Widths of pictures, of the vocabulary, of words and of the LSTM."""
        super().__init__()
        self.norm = nn.LayerNorm(pictures, elementwise_affine=False)
        self.picture = nn.Linear(pictures, words)
        self.words = nn.Embedding(vocabulary, words, padding_idx=PAD)
        self.lstm = nn.LSTM(words, hidden, batch_first=True)
        self.next = nn.Linear(hidden, vocabulary)
        self.dropout = nn.Dropout(dropout)

    def shown(self, pictures: Tensor) -> Tensor:
        return cast(Tensor, self.picture(self.norm(pictures)))

    def forward(self, pictures: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
        """Scores of all words [n, vocabulary] at each place where a word follows, and the words that do [n].

        `ids` are captions with their begin and end. Nothing is computed for padding.
        """
        inputs = torch.cat([self.shown(pictures)[:, None], self.words(ids[:, :-1])], 1)
        states = self.lstm(self.dropout(inputs))[0][:, 1:]
        follows = ids[:, 1:] != PAD
        return self.next(self.dropout(states[follows])), ids[:, 1:][follows]


class Start(nn.Module):
    """The state of the LSTM after it has seen the picture."""

    def __init__(self, model: Captioner) -> None:
        super().__init__()
        self.model = model

    def forward(self, pictures: Tensor) -> tuple[Tensor, Tensor]:
        weight, _, bias, hidden_bias = self.model.lstm.all_weights[0]
        gates = nn.functional.linear(self.model.shown(pictures), weight, bias + hidden_bias)
        return _cell(gates, torch.zeros(()))


class Step(nn.Module):
    """One word further: log-probabilities of the word after it, and the new state."""

    def __init__(self, model: Captioner) -> None:
        super().__init__()
        self.model = model
        impossible = torch.zeros(model.next.out_features)
        impossible[[PAD, BOS, UNK]] = NEVER
        self.impossible = impossible

    def forward(self, ids: Tensor, hidden: Tensor, cell: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        weight, hidden_weight, bias, hidden_bias = self.model.lstm.all_weights[0]
        gates = nn.functional.linear(self.model.words(ids), weight, bias)
        gates = gates + nn.functional.linear(hidden, hidden_weight, hidden_bias)
        hidden, cell = _cell(gates, cell)
        scores = self.model.next(hidden) + self.impossible.to(hidden.device)
        return torch.log_softmax(scores, -1), hidden, cell


def _cell(gates: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
    let_in, forget, new, let_out = gates.chunk(4, -1)
    cell = torch.sigmoid(forget) * cell + torch.sigmoid(let_in) * torch.tanh(new)
    return torch.sigmoid(let_out) * torch.tanh(cell), cell
