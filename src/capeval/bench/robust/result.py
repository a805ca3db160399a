"""What every check of robustness gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from capeval.bench.plain import plain
from capeval.io.files import PathLike, writing
from capeval.types import Dataset


@dataclass(frozen=True)
class RobustnessResult:
    """Figures for programs, and the captions they were measured on."""

    data: Mapping[str, Any]
    """Begins with `kind`, such as `robust-curves`."""
    dataset: Dataset
    """Every caption that was scored, changed or not, with an id of its own."""
    tags: Sequence[Mapping[str, Any]]
    """For each row of the dataset what was done to it."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it; numbers that do not exist are None."""
        known: dict[str, Any] = {"schema": "capeval.robust/1"} | plain(self.data)
        return known

    def with_facts(self, **facts: Any) -> RobustnessResult:
        """The same with more facts, after its kind."""
        kind = self.data["kind"]
        return replace(self, data={"kind": kind} | facts | {key: self.data[key] for key in self.data if key != "kind"})

    def records(self) -> Iterator[dict[str, Any]]:
        """The captions, to be scored elsewhere: scores come back by `id`."""
        for row, tag in zip(self.dataset, self.tags, strict=True):
            yield {"id": row.id, "image": row.image, **tag, "candidate": row.candidate, "references": row.references}

    def write(self, path: PathLike) -> None:
        """The records as JSONL."""
        encode = msgspec.json.Encoder().encode
        with writing(path) as stream:
            for record in self.records():
                stream.write(encode(record) + b"\n")
