"""The metrics as classes of torchmetrics, which must be installed; several processes sync their states.

    from capeval.compat.torchmetrics import CIDErD
    cider = CIDErD()
    cider.update(["a dog"], [["a dog runs", "the dog"]])
    cider.compute()

Captions travel as bytes: a score such as CIDEr's depends on all of them together, so no smaller state would do.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, ClassVar

from capeval.api import score
from capeval.errors import DataError, Unavailable
from capeval.registry import parse

try:
    import torch
    import torchmetrics
except ImportError:
    raise Unavailable(
        "capeval.compat.torchmetrics needs torchmetrics. Install it with: pip install torchmetrics"
    ) from None


class CaptionMetric(torchmetrics.Metric):  # type: ignore[misc]
    """Any metric expression; `compute` gives a tensor, or a dict of them where there are several scores."""

    expression: ClassVar[str] = ""
    is_differentiable = False
    higher_is_better = True
    full_state_update = False

    def __init__(self, expression: str | None = None, *, tokenizer: str = "ptb", **options: Any) -> None:
        super().__init__(**options)
        self.metric, self.tokenizer = expression or self.expression, tokenizer
        parse(self.metric)  # report a bad name here
        self.add_state("rows", default=[], dist_reduce_fx="cat")

    def update(self, preds: Sequence[str], target: Sequence[str | Sequence[str]]) -> None:
        """Captions, and for each of them its references, or one as a text."""
        if isinstance(preds, str) or len(preds) != len(target):
            raise DataError("captions and references must be lists of the same length")
        lines = [
            json.dumps([caption, [references] if isinstance(references, str) else list(references)]) + "\n"
            for caption, references in zip(preds, target)
        ]
        if lines:
            text = bytearray("".join(lines).encode())
            self.rows.append(torch.frombuffer(text, dtype=torch.uint8).to(self.device))

    def compute(self) -> Any:
        parts = self.rows if isinstance(self.rows, list) else [self.rows]
        lines = b"".join(part.cpu().numpy().tobytes() for part in parts).decode().splitlines()
        rows = [json.loads(line) for line in lines]
        found = score(
            [caption for caption, _ in rows], [refs for _, refs in rows], [self.metric], tokenizer=self.tokenizer
        )
        scores = {name: torch.tensor(value, dtype=torch.float64) for name, value in found.scores.items()}
        return scores if len(scores) > 1 else next(iter(scores.values()))


class BLEU(CaptionMetric):
    expression = "bleu"


class ROUGEL(CaptionMetric):
    expression = "rouge_l"


class METEOR(CaptionMetric):
    expression = "meteor"


class CIDEr(CaptionMetric):
    expression = "cider"


class CIDErD(CaptionMetric):
    expression = "cider_d"


class SPICE(CaptionMetric):
    expression = "spice"


class SPIDEr(CaptionMetric):
    expression = "spider"
