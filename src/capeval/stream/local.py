"""The runner of one machine: a process for each core, or this process alone.

Processes, since half of the work is Python's, which threads cannot share. They are started as `python -m
capeval.stream.worker` and spoken to in lines of JSON, so nothing is pickled and the program that calls us is not run
again. One that loses its parent ends.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import IO, Any

from capeval.errors import CapevalError
from capeval.stream.job import GO_ON, Item, Record
from capeval.stream.work import Job, Report, Work
from capeval.types import Frequencies


class Local:
    def __init__(self, cores: int | None = None) -> None:
        self._cores = cores or os.cpu_count() or 1

    def run(
        self, job: Job, step: str, items: Sequence[Item], report: Report, tables: Mapping[bool, Frequencies] | None
    ) -> Iterator[tuple[str, Record]]:
        workers = min(self._cores, len(items))
        job = replace(job, threads=max(1, self._cores // max(1, workers)))
        if workers <= 1 or not sys.executable:
            work = Work(job, tables)
            for path, more in items:
                yield path, work.do(step, path, report, **more)
            return
        yield from _Pool(job, step, items, report).run(workers)


class _Pool:
    def __init__(self, job: Job, step: str, items: Sequence[Item], report: Report) -> None:
        self._job, self._step, self._report = job, step, report
        self._items: queue.SimpleQueue[Item] = queue.SimpleQueue()
        for item in items:
            self._items.put(item)
        self._count = len(items)
        self._results: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._children: list[subprocess.Popen[bytes]] = []

    def run(self, workers: int) -> Iterator[tuple[str, Record]]:
        paths = os.pathsep.join(each for each in sys.path if each)
        command = [sys.executable, "-m", "capeval.stream.worker"]
        leaders: list[threading.Thread] = []
        try:
            for _ in range(workers):
                child = subprocess.Popen(
                    command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | {"PYTHONPATH": paths}
                )
                self._children.append(child)
                leaders.append(threading.Thread(target=self._lead, args=(child,), daemon=True))
                leaders[-1].start()
            left = self._count
            while left:
                kind, value = self._results.get()
                if kind == "rows":
                    self._report(value)
                elif kind == "lost":
                    raise CapevalError(value)
                else:
                    left -= 1
                    yield value
        finally:
            for child in self._children:
                child.kill()
                child.wait()
            for leader in leaders:
                leader.join()

    def _lead(self, child: subprocess.Popen[bytes]) -> None:
        """Gives a worker one shard after the other. Runs in a thread of its own."""
        assert child.stdin is not None
        assert child.stdout is not None
        path = "nothing yet"
        try:
            _send(child.stdin, json.loads(self._job.to_json()))
            while True:
                path, more = self._items.get_nowait()
                _send(child.stdin, {"step": self._step, "path": path, **more})
                for line in child.stdout:
                    answer = json.loads(line)
                    if "record" in answer:
                        self._results.put(("record", (path, answer["record"])))
                        break
                    self._results.put(("rows", answer["rows"]))
                else:
                    raise BrokenPipeError
        except queue.Empty:
            pass
        except (OSError, ValueError):
            code = child.wait()
            how = f"signal {-code}" if code < 0 else f"exit code {code}"
            self._results.put(
                (
                    "lost",
                    f"a worker was lost ({how}) with {path}. Its messages stand above; without any, memory may have "
                    f"been too small: try fewer threads. {GO_ON}",
                )
            )
        finally:
            with suppress(OSError):  # what could not be sent
                child.stdin.close()
            child.stdout.close()


def _send(stream: IO[bytes], message: Any) -> None:
    stream.write(json.dumps(message).encode() + b"\n")
    stream.flush()
