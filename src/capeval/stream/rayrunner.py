"""The runner of a Ray cluster: shards are the rows of a Ray dataset, and actors hold models and tables.

What comes back of a shard is its small record; rows go from file to file. A shard whose worker was lost is done again
elsewhere, and its files are replaced by the same ones.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from capeval.errors import CapevalError, MissingExtra, with_advice
from capeval.stream.job import Item, Record
from capeval.stream.work import Job, Report, Work
from capeval.types import Frequencies


class RayRunner:
    """`address`: of a cluster; without it the one that runs here, else a new one. What a program has begun is used."""

    def __init__(self, address: str | None = None, *, actors: int | None = None) -> None:
        try:
            import ray
            import ray.data
        except ImportError:
            raise MissingExtra("Running on Ray", "ray") from None
        self._ray, self._actors = ray, actors
        logging.getLogger("ray.data").setLevel(logging.ERROR)  # progress is ours to show
        if not ray.is_initialized():
            try:
                ray.init(address=address, log_to_driver=False, logging_level="ERROR")
            except Exception as problem:  # Ray raises what comes, bare Exceptions among it
                raise CapevalError(_no_cluster(address, problem)) from problem

    def run(
        self, job: Job, step: str, items: Sequence[Item], report: Report, tables: Mapping[bool, Frequencies] | None
    ) -> Iterator[tuple[str, Record]]:
        ray = self._ray
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars, context.print_on_execution_start = False, False
        rows = [{"path": path, "more": json.dumps(more)} for path, more in items]
        actors = min(len(items), self._actors or max(1, int(ray.cluster_resources().get("CPU", 1))))
        # In the object store once, whatever the number of actors.
        held = ray.put(dict(tables)) if tables else None
        dataset = ray.data.from_items(rows, override_num_blocks=len(rows)).map_batches(
            _Actor,
            fn_constructor_args=(job.to_json(), step, [held]),
            compute=ray.data.ActorPoolStrategy(size=actors),
            batch_size=1,
            num_cpus=1,
        )
        for row in dataset.iter_rows():
            record = json.loads(row["record"])
            report(record.get("rows", 0))
            yield row["path"], record


def _no_cluster(address: str | None, problem: Exception) -> str:
    why = (str(problem).strip().splitlines() or [type(problem).__name__])[0]
    if address:
        return with_advice(f"there is no Ray cluster at {address}: {why}", "`ray status` there tells whether one runs")
    advice = "Start a head node by hand (`ray start` tells how), and try again"
    return with_advice(f"Ray could not be started on this machine: {why}", advice)


class _Actor:
    """Holds what every shard needs, for as long as the job lasts."""

    def __init__(self, job: str, step: str, held: list[Any]) -> None:
        import ray

        self._step = step
        self._work = Work(Job.from_json(job), ray.get(held[0]) if held[0] is not None else None)

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        found = [
            self._work.do(self._step, str(path), lambda rows: None, **json.loads(str(more)))
            for path, more in zip(batch["path"], batch["more"])
        ]
        return {"path": list(batch["path"]), "record": [json.dumps(each) for each in found]}
