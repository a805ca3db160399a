"""What the benchmarks share: timing whole commands, the line about the machine, tables."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

RESULTS = Path(__file__).parent / "results"


class Run(NamedTuple):
    seconds: float
    peak_mb: float
    output: str


def run(command: Sequence[str], folder: Path, environment: dict[str, str] | None = None) -> Run:
    """Runs a whole command; the peak is that of the largest process it starts."""
    log = folder / "output.txt"
    start = time.perf_counter()
    with log.open("wb") as stream:
        child = subprocess.Popen(
            command, cwd=folder, stdout=stream, stderr=subprocess.STDOUT, env=os.environ | (environment or {})
        )
        _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    output = log.read_text(errors="replace")
    if child.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{output}")
    return Run(seconds, usage.ru_maxrss / 1024, output)


def best(runs: Sequence[Run]) -> Run:
    """The fastest: what a command costs when nothing else disturbs it."""
    return min(runs)


def machine() -> str:
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [line.split(":", 1)[1].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        model = names[0] if names else model
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    return f"{model}, {os.cpu_count()} cores, Python {platform.python_version()}, load average {load} at the start"


def markdown(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows]) + "\n"


def write(name: str, text: str) -> None:
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / name).write_text(text)
    print(text)
