"""The network of the fast parser: word vectors, a bidirectional LSTM, and outputs for tags, heads and labels.

Heads are scored by a bilinear form (Dozat and Manning 2017), labels by a layer over dependent and head together.
`capeval.engine.network` computes the same in whole numbers.
"""

from __future__ import annotations

from typing import NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

SLOPE = 0.1


class Scores(NamedTuple):
    """Of captions of one length: tags [captions, words, tags], heads [captions, words, words + 1], root first."""

    tags: Tensor
    heads: Tensor
    low: Tensor
    high: Tensor
    """What words are as dependents and as heads, for `ParserNet.labels`."""


class ParserNet(nn.Module):
    """Takes words as numbers (`capeval.scene.fast.words`); word 0 is any unknown one and has no vector of its own."""

    def __init__(
        self,
        *,
        vocabulary: int,
        buckets: int,
        glove: int,
        tags: int,
        labels: int,
        width: int,
        hidden: int,
        arcs: int,
        parts: int,
        dropout: float,
    ) -> None:
        super().__init__()
        self.sizes = [arcs, arcs, parts, parts]
        self.word = nn.Embedding(vocabulary, width, padding_idx=0)
        self.spelling = nn.Embedding(buckets, width)
        self.glove = nn.Linear(glove, width, bias=False)
        self.lstm = nn.LSTM(width, hidden, 2, bidirectional=True, batch_first=True, dropout=dropout)
        self.tag = nn.Linear(2 * hidden, tags)
        self.parts = nn.Linear(2 * hidden, sum(self.sizes))
        self.root = nn.Parameter(torch.randn(arcs + parts) * 0.1)
        self.arc = nn.Parameter(torch.randn(arcs + 1, arcs) * 0.05)
        self.label = nn.Linear(parts, labels)
        self.dropout = nn.Dropout(dropout)
        self._start()

    def _start(self) -> None:
        # A word begins as its spelling and its GloVe vector say; what is particular to it is learned.
        nn.init.zeros_(self.word.weight)
        nn.init.normal_(self.spelling.weight, 0.0, 0.15)
        hidden = self.lstm.hidden_size
        for name, values in self.lstm.named_parameters():
            if "weight_hh" in name:
                for gate in values.chunk(4):
                    nn.init.orthogonal_(gate)
            elif "bias" in name:
                nn.init.zeros_(values)
                if "bias_ih" in name:
                    nn.init.ones_(values[hidden : 2 * hidden])  # at first, remember

    def forward(self, words: Tensor, spelling: Tensor, glove: Tensor) -> Scores:
        """`words` [captions, words], `spelling` [..., features], `glove` [..., 100]."""
        vectors = self.word(words) + self.spelling(spelling).sum(-2) + self.glove(glove)
        read = self.dropout(self.lstm(self.dropout(vectors))[0])
        dependent, head, low, high = self.parts(read).split(self.sizes, dim=-1)
        root_arc, root_part = (each.expand(len(words), 1, -1) for each in self.root.split(self.sizes[1:3]))
        dependent = self.dropout(functional.leaky_relu(dependent, SLOPE))
        head = self.dropout(functional.leaky_relu(torch.cat([root_arc, head], 1), SLOPE))
        heads = (dependent @ self.arc[1:] + self.arc[0]) @ head.transpose(1, 2)
        return Scores(self.tag(read), heads, low, torch.cat([root_part, high], 1))

    def labels(self, scores: Scores, heads: Tensor) -> Tensor:
        """Scores of the labels [captions, words, labels] if these are the heads [captions, words]."""
        high = scores.high.gather(1, heads[..., None].expand(scores.low.shape))
        both = functional.leaky_relu(scores.low + high, SLOPE)
        return cast(Tensor, self.label(self.dropout(both)))
