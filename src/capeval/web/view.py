"""Which captions of a result are shown, and in which order: what the address of a page says."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import urlencode

import numpy as np
import numpy.typing as npt

from capeval.report.inputs import CaptionScores
from capeval.report.plain import percentiles
from capeval.types import Array
from capeval.web.refusals import Refused

APART = "apart"
"""The column that tells how differently two metrics place a caption."""
PAGE = 50
_MOST = 200
_REMEMBERED = 8
_LONGEST = 200


@dataclass(frozen=True)
class Query:
    """The state of a table, as it stands in its address."""

    words: str = ""
    system: str = ""
    score: str = ""
    low: float | None = None
    high: float | None = None
    a: str = ""
    b: str = ""
    sort: str = ""
    """A column; with a minus before it from the largest on."""
    offset: int = 0

    def address(self, **changes: object) -> str:
        """The query part of the address of this state, or of one that differs in something."""
        changed = replace(self, **changes)  # type: ignore[arg-type]
        said = {key: value for key, value in vars(changed).items() if value not in ("", None)}
        pairs = {key: value for key, value in said.items() if key != "offset" or value}
        return f"?{urlencode(pairs)}" if pairs else "?"


def query_of(params: Mapping[str, str], rows: CaptionScores) -> Query:
    """What is not known is as good as not said: a link made for other scores still opens."""
    names = set(rows.scores)
    sort = params.get("sort", "")
    a, b = (each if (each := params.get(key, "")) in names else "" for key in ("a", "b"))
    b = b if b != a else ""
    columns = {*names, "id", "system", "candidate", *([APART] if a and b else [])}
    return Query(
        words=params.get("words", "").strip()[:_LONGEST],
        system=system if (system := params.get("system", "")) in set(rows.systems) else "",
        score=score if (score := params.get("score", "")) in names else "",
        low=_number(params.get("low")),
        high=_number(params.get("high")),
        a=a,
        b=b,
        sort=sort if sort.removeprefix("-") in columns else f"-{APART}" if a and b else "",
        offset=whole(params.get("offset")),
    )


def _number(text: str | None) -> float | None:
    try:
        value = float(text) if text else None
    except ValueError:
        return None
    return value if value is not None and math.isfinite(value) else None


def whole(text: str | None, usual: int = 0, most: int = 1 << 40) -> int:
    if not text:
        return usual
    if not (text.isascii() and text.isdigit()) or len(text) > 12 or int(text) > most:
        raise Refused(f"a whole number up to {most} is expected", 400)
    return int(text)


class View:
    """A table of captions. What was sorted and filtered once is remembered for the next rows of it."""

    def __init__(self, rows: CaptionScores) -> None:
        self.rows = rows
        self._orders: OrderedDict[Query, npt.NDArray[np.intp]] = OrderedDict()
        self._lower: list[str] | None = None
        self._guard = threading.Lock()

    def order(self, query: Query) -> npt.NDArray[np.intp]:
        """The numbers of the rows to be shown."""
        key = replace(query, offset=0)
        with self._guard:
            if key not in self._orders:
                self._orders[key] = self._sorted(key)
                while len(self._orders) > _REMEMBERED:
                    self._orders.popitem(last=False)
            return self._orders[key]

    def apart(self, query: Query) -> Array | None:
        """Of each caption, by how much more of the others metric `a` places it above than `b` does."""
        if not (query.a and query.b):
            return None
        return percentiles(self.rows.scores[query.a]) - percentiles(self.rows.scores[query.b])

    def _sorted(self, query: Query) -> npt.NDArray[np.intp]:
        kept = np.flatnonzero(self._kept(query))
        name = query.sort.removeprefix("-")
        if not name:
            return kept
        if name in ("id", "system", "candidate"):
            texts = {"id": self.rows.ids, "system": self.rows.systems, "candidate": self.rows.captions}[name]
            ordered = sorted(kept.tolist(), key=lambda row: texts[row], reverse=query.sort.startswith("-"))
            return np.array(ordered, np.intp)
        apart = self.apart(query) if name == APART else None
        mine = self.rows.scores[name][kept] if apart is None else np.abs(apart)[kept]
        # Captions without the score come last, whichever way.
        return kept[np.argsort(-mine if query.sort.startswith("-") else mine, kind="stable")]

    def _kept(self, query: Query) -> npt.NDArray[np.bool_]:
        kept = np.ones(len(self.rows), bool)
        if query.system:
            kept &= np.array([each == query.system for each in self.rows.systems])
        if query.words:
            self._lower = self._lower or [each.lower() for each in self.rows.captions]
            wanted = query.words.lower().split()
            kept &= np.array([all(word in text for word in wanted) for text in self._lower])
        if query.score:
            values = self.rows.scores[query.score]
            if query.low is not None:
                kept &= values >= query.low
            if query.high is not None:
                kept &= values <= query.high
        return kept

    def window(self, query: Query, count: int = PAGE) -> list[dict[str, object]]:
        """The rows from the query's offset on, for a template."""
        chosen = self.order(query)[query.offset : query.offset + min(count, _MOST)].tolist()
        apart = self.apart(query)
        return [
            {
                "row": row,
                "id": self.rows.ids[row],
                "system": self.rows.systems[row],
                "caption": self.rows.captions[row],
                "scores": [float(values[row]) for values in self.rows.scores.values()],
                "apart": None if apart is None else float(apart[row]),
            }
            for row in chosen
        ]
