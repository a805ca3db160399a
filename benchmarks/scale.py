"""Captions by the million: rows a second, memory, equality, kills, Ray, pictures. One command:

    python benchmarks/scale.py [--folder DIR] [--parts rates,memory,equal,kills,ray,pictures] [--rows 1000000,10000000]
                               [--kills 1000] [--pictures DIR --features FILE]

Shards are made in DIR (1.3 GB for 10 M rows) and stay there. Each part writes its section to results/scale.md, and
leaves those of the others as they are. On a machine with other work CPU time is what can be compared: seconds of all
processes, user and system, beside those of the clock.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from common import RESULTS, machine, markdown
from scaledata import SHARD, write_shards

TOGETHER = ["bleu", "rouge_l", "cider_d(df=coco-val2014)"]
CAPEVAL = [sys.executable, "-m", "capeval"]
HERE = Path(__file__).resolve().parent
TITLE = "# Captions by the million\n\nMade by `python benchmarks/scale.py`; docs/scale.md says what follows from it.\n"


class Measured(NamedTuple):
    seconds: float
    cpu: float
    """Seconds of user and system, of all processes."""
    peak_mb: float
    """Of all processes together."""
    output: str


def measured(command: Sequence[str], environment: dict[str, str] | None = None) -> Measured:
    start, peak = time.perf_counter(), 0.0
    with tempfile.TemporaryFile() as log:
        child = subprocess.Popen(
            command, stdout=log, stderr=subprocess.STDOUT, env=os.environ | (environment or {}), cwd=HERE
        )
        ended = threading.Event()

        def watch() -> None:
            nonlocal peak
            while not ended.wait(1):
                peak = max(peak, sum(map(_resident, _family(child.pid))))

        watcher = threading.Thread(target=watch)
        watcher.start()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        ended.set()
        watcher.join()
        log.seek(0)
        output = log.read().decode(errors="replace")
    if child.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{output}")
    return Measured(time.perf_counter() - start, usage.ru_utime + usage.ru_stime, peak, output)


def _family(pid: int) -> list[int]:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    # Children may have been started by any thread.
    tasks = [Path(task, "children") for task in Path(f"/proc/{pid}/task").glob("*")]
    for path in tasks:
        try:
            children += path.read_text().split()
        except OSError:
            continue
    return [pid, *(each for child in {*children} for each in _family(int(child)))]


def _resident(pid: int) -> float:
    """What it has of memory, what it shares shared out: MB."""
    try:
        found = re.search(r"^Pss: *(\d+) kB", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.M)
    except OSError:
        return 0.0
    return int(found[1]) / 1024 if found else 0.0


def score(shards: Sequence[Path], metrics: Sequence[str], output: Path, *more: str) -> Measured:
    shutil.rmtree(output, ignore_errors=True)
    wanted = [part for metric in metrics for part in ("-m", metric)]
    return measured([*CAPEVAL, "score", *map(str, shards), *wanted, "-o", str(output), "--format", "json", *more])


def shards_of(folder: Path, rows: int) -> list[Path]:
    write_shards(folder / "shards", rows)
    return sorted((folder / "shards").glob("*.parquet"))[: -(-rows // SHARD)]


def per_second(rows: int, run: Measured) -> list[str]:
    """By the clock; and what two free cores would do by the CPU time."""
    return [f"{rows / run.seconds:,.0f}", f"{1e6 * run.cpu / rows:.1f}", f"{2 * rows / run.cpu:,.0f}"]


def rates(folder: Path, options: argparse.Namespace) -> str:
    count = options.rate_rows
    shards = shards_of(folder, count)
    wanted = [
        TOGETHER, ["bleu"], ["rouge_l"], ["cider_d(df=coco-val2014)"], ["cider_d"], ["spice_fast"],
        ["meteor"], ["wmd"],
    ]  # fmt: skip
    rows = []
    for metrics in wanted:
        slow = metrics in (["spice_fast"], ["meteor"], ["wmd"])
        some, size = (_some(folder, 40_000, 2), 40_000) if slow else (shards, count)
        run = score(some, metrics, folder / "rates")
        note = f"{_distinct(some):,} distinct captions" if slow else ""
        distinct = f"{2 * _distinct(some) / run.cpu:,.0f} distinct captions/s on two cores; " if slow else ""
        rows.append([" + ".join(metrics), f"{size:,}", *per_second(size, run), distinct + note])
    header = ["metrics", "rows", "rows/s", "CPU µs a row", "rows/s on two free cores, by CPU time", ""]
    return markdown(header, rows)


def _some(folder: Path, count: int, shards: int) -> list[Path]:
    import pyarrow.parquet as pq

    place = folder / f"some-{count}"
    place.mkdir(exist_ok=True)
    table = pq.read_table(shards_of(folder, SHARD)[0])
    size = count // shards
    for i in range(shards):
        pq.write_table(table.slice(i * size, size), place / f"{i}.parquet")
    return sorted(place.glob("*.parquet"))


def _distinct(shards: Sequence[Path]) -> int:
    import pyarrow.parquet as pq

    found: set[str] = set()
    for path in shards:
        table = pq.read_table(path)
        found.update(table["caption"].to_pylist(), table["references"].combine_chunks().flatten().to_pylist())
    return len(found)


def memory(folder: Path, options: argparse.Namespace) -> str:
    rows = []
    for count in options.rows:
        run = score(shards_of(folder, count), TOGETHER, folder / "memory")
        rows.append([f"{count:,}", f"{run.seconds:,.0f}", *per_second(count, run), f"{run.peak_mb:,.0f}"])
    header = [
        "rows",
        "seconds",
        "rows/s",
        "CPU µs a row",
        "rows/s on two free cores, by CPU time",
        "peak MB, 3 processes",
    ]
    return markdown(header, rows)


def equal(folder: Path, options: argparse.Namespace) -> str:
    """Shards against one piece: rows and corpus."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    from capeval.evaluate import evaluate
    from capeval.types import Dataset

    metrics = ["bleu", "rouge_l", "cider_d", "cider_d(df=coco-val2014)"]
    shards = _some(folder, options.equal_rows, 4)
    run = score(shards, metrics, folder / "equal")
    found = pa.concat_tables([pq.read_table(path) for path in sorted((folder / "equal").glob("*.parquet"))])
    images, captions = found["image_id"].to_pylist(), found["caption"].to_pylist()
    sets = [tuple(each) for each in found["references"].to_pylist()]
    whole = evaluate(Dataset(images, images, captions, sets, range(len(sets))), metrics)
    shown = json.loads(run.output[run.output.index("{") : run.output.rindex("}") + 1])
    rows = []
    for name, values in whole.per_caption.items():
        apart = float(np.abs(found[name].to_numpy() - values).max())
        corpus = abs(shown["scores"][name] - whole.scores[name])
        rows.append([name, f"{apart:.1e}", f"{corpus:.1e}", shown["signatures"][name] == whole.signatures[name]])
        if max(apart, corpus) > 1e-12:
            sys.exit(f"{name} is not that of one piece: {apart} and {corpus}")
    header = ["score", "largest difference of a row", "difference of the corpus score", "same signature"]
    return f"{options.equal_rows:,} rows in 4 shards and in one piece:\n\n" + markdown(header, rows)


def kills(folder: Path, options: argparse.Namespace) -> str:
    tool = HERE.parent / "tools" / "kill_stream.py"
    run = measured([sys.executable, str(tool), "--kills", str(options.kills), "--folder", str(folder / "kills")])
    return f"{run.output.strip().splitlines()[-1]}\n"


PARTS = {"rates": rates, "memory": memory, "equal": equal, "kills": kills}


def keep(name: str, text: str) -> None:
    """Puts a section into the results in place of an older one."""
    path = RESULTS / "scale.md"
    known = path.read_text("utf-8") if path.exists() else TITLE
    section = f"## {name}\n\n{machine()}\n\n{text.strip()}\n"
    print(section)
    head, *parts = re.split(r"^(?=## )", known, flags=re.M)
    others = {part.split("\n")[0][3:]: part.strip() + "\n" for part in parts} | {name: section}
    path.write_text("\n".join([head.strip() + "\n", *(others[each] for each in PARTS if each in others)]), "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "capeval-scale")
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--rows", type=lambda text: [int(each) for each in text.split(",")], default=[10**6, 10**7])
    parser.add_argument("--rate-rows", type=int, default=400_000)
    parser.add_argument("--equal-rows", type=int, default=100_000)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--pictures", type=Path, help="a folder of pictures named by their id")
    parser.add_argument("--features", type=Path, help="a feature store of the same pictures")
    options = parser.parse_args()
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for name in options.parts.split(","):
        keep(name, PARTS[name](folder, options))


if __name__ == "__main__":
    main()
