"""Running scoring commands for benchmarks/scale.py: seconds, CPU time, and the memory of each process."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

CAPEVAL = [sys.executable, "-m", "capeval"]
HERE = Path(__file__).resolve().parent


class Measured(NamedTuple):
    seconds: float
    cpu: float
    """Seconds of user and system, of all processes."""
    command_mb: float
    """The highest that the command itself had of memory, as the kernel tells (VmHWM)."""
    worker_mb: float
    """The highest of any process that it started."""
    output: str
    code: int = 0

    def document(self) -> dict[str, Any]:
        """The JSON among the messages."""
        found: dict[str, Any] = json.loads(self.output[self.output.index("{") : self.output.rindex("}") + 1])
        return found


def measured(
    command: Sequence[str],
    environment: dict[str, str] | None = None,
    *,
    may_fail: bool = False,
    before: Callable[[], None] | None = None,
) -> Measured:
    """Runs a command. `before` is called in its process before it begins."""
    start, peaks = time.perf_counter(), dict[int, float]()
    with tempfile.TemporaryFile() as log:
        child = subprocess.Popen(
            command, stdout=log, stderr=subprocess.STDOUT, env=os.environ | (environment or {}), cwd=HERE,
            preexec_fn=before,
        )  # fmt: skip
        ended = threading.Event()

        def watch() -> None:
            while not ended.wait(0.2):
                for pid in _family(child.pid):
                    peaks[pid] = max(peaks.get(pid, 0.0), _peak(pid))

        watcher = threading.Thread(target=watch)
        watcher.start()
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        ended.set()
        watcher.join()
        log.seek(0)
        output = log.read().decode(errors="replace")
    if child.returncode and not may_fail:
        sys.exit(f"{' '.join(command)} failed:\n{output}")
    own = peaks.pop(child.pid, 0.0)
    cpu = usage.ru_utime + usage.ru_stime
    return Measured(seconds, cpu, own, max(peaks.values(), default=own), output, child.returncode)


def _family(pid: int) -> list[int]:
    found = set[str]()
    for task in Path(f"/proc/{pid}/task").glob("*"):  # children may have been started by any thread
        try:
            found.update(Path(task, "children").read_text().split())
        except OSError:
            continue
    return [pid, *(each for child in found for each in _family(int(child)))]


def _peak(pid: int) -> float:
    try:
        found = re.search(r"^VmHWM:\s*(\d+) kB", Path(f"/proc/{pid}/status").read_text(), re.M)
    except OSError:
        return 0.0
    return int(found[1]) / 1024 if found else 0.0


def score(
    shards: Sequence[Path],
    metrics: Sequence[str],
    output: Path,
    *more: str,
    go_on: bool = False,
    **how: Any,
) -> Measured:
    """`capeval score` into a folder that is begun anew, unless the run is to go on with it."""
    if not go_on:
        shutil.rmtree(output, ignore_errors=True)
    wanted = [part for metric in metrics for part in ("-m", metric)]
    line = [*CAPEVAL, "score", *map(str, shards), *wanted, "-o", str(output), "--format", "json", *more]
    return measured(line, **how)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}
