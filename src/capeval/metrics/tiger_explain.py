"""TIGEr's score of one caption, region by region: the two orders, and the two distributions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from capeval.types import Array, Explanation, Longs

HEADER = (
    "rank", "region", "references' rank", "candidate", "references", "gain", "candidate's share", "references' share",
)  # fmt: skip


class Side(NamedTuple):
    """The candidate, or its references together."""

    vector: Array
    """The grounding vector."""
    order: Longs
    """Regions, that with the highest value first."""
    log_shares: Array
    """Logarithms of the distribution over the regions."""

    @property
    def length(self) -> float:
        return float(np.sqrt((self.vector**2).sum()))


def explanation(
    text: str,
    scores: Mapping[str, float],
    regions: Sequence[str],
    candidate: Side,
    references: Side,
    gain: Array,
) -> Explanation:
    """`text`: the references; `regions`: their names; `gain`: what each is worth, as the references have it.

    Rows are regions in the candidate's order: where the references' rank rises from row to row, RRS is 1.
    """
    rank = np.empty(len(references.order), np.int64)
    rank[references.order] = np.arange(1, len(rank) + 1)
    ours, theirs = np.exp(candidate.log_shares), np.exp(references.log_shares)
    facts: dict[str, float | str] = {
        **scores,
        "KL divergence": float((theirs * (references.log_shares - candidate.log_shares)).sum()),
        "length ratio": references.length / candidate.length if candidate.length else "infinite",
    }
    columns = (rank, candidate.vector, references.vector, gain, ours, theirs)
    rows = [
        (place, regions[number], *(column[number].item() for column in columns))
        for place, number in enumerate(candidate.order.tolist(), 1)
    ]
    return Explanation(text, facts, HEADER, rows)
