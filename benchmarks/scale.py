"""Captions by the million: rows a second, memory, equality, kills, faults, Ray, pictures. One command:

    python benchmarks/scale.py [--folder DIR] [--pictures DIR] [--parts rates,memory,...]

Shards are made in DIR (1.3 GB for 10 M rows, and scored ones beside them) and stay there. Each part writes its
section to results/scale.md and leaves those of the others as they are; `pictures` is left out where no folder of them
is given. Seconds are those of whole commands, from start to end, with a process for each core; on a machine with other
work CPU time, of all processes, user and system, is what can be compared.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from common import RESULTS, machine, markdown
from scaledata import SHARD, write_distinct, write_picture_shards, write_shards
from scalerun import HERE, Measured, contents, measured, score

CIDER = "cider_d(df=coco-val2014)"
TOGETHER = ["bleu", "rouge_l", CIDER]
TITLE = "# Captions by the million\n\nMade by `python benchmarks/scale.py`; docs/scale.md says what follows from it.\n"


def shards_of(folder: Path, rows: int) -> list[Path]:
    write_shards(folder / "shards", rows)
    return sorted((folder / "shards").glob("*.parquet"))[: -(-rows // SHARD)]


def some(folder: Path, count: int, shards: int) -> list[Path]:
    """The first rows of all, in so many shards."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    place = folder / f"some-{count}-{shards}"
    place.mkdir(exist_ok=True)
    table = pa.concat_tables(pq.read_table(path) for path in shards_of(folder, count))
    size = count // shards
    for i in range(shards):
        pq.write_table(table.slice(i * size, size), place / f"{i:03d}.parquet")
    return sorted(place.glob("*.parquet"))


def by_clock_and_cpu(count: int, run: Measured) -> list[str]:
    return [f"{run.seconds:,.1f}", f"{count / run.seconds:,.0f}", f"{1e6 * run.cpu / count:,.1f}"]


RATES = ["rows", "seconds", "rows/s", "CPU µs a row"]


def rates(folder: Path, options: argparse.Namespace) -> str:
    """Each metric alone, and `spice_fast` over captions of which each has to be parsed."""
    rows = []
    sizes = {"bleu": options.rate_rows, "rouge_l": options.rate_rows, CIDER: options.rate_rows,
             "meteor": options.slow_rows, "wmd": options.slow_rows}  # fmt: skip
    for metric, count in sizes.items():
        run = score(shards_of(folder, count), [metric], folder / "rates")
        rows.append([metric, f"{count:,}", *by_clock_and_cpu(count, run)])
    shards = write_distinct(folder / "distinct", options.parsed)
    run = score(shards, ["spice_fast"], folder / "rates")
    count = run.document()["n"]
    rows.append(["spice_fast", f"{count:,}", *by_clock_and_cpu(count, run)])
    text = markdown(["metric", *RATES], rows)
    distinct = f"{options.parsed:,} captions, no two of them the same"
    return text + f"\n`spice_fast` over {distinct}: {options.parsed / run.seconds:,.0f} distinct captions/s.\n"


def memory(folder: Path, options: argparse.Namespace) -> str:
    """The three n-gram metrics together, at several sizes."""
    rows = []
    for count in options.rows:
        run = score(shards_of(folder, count), TOGETHER, folder / "memory")
        rows.append([f"{count:,}", *by_clock_and_cpu(count, run), f"{run.worker_mb:,.0f}", f"{run.command_mb:,.0f}"])
    header = [*RATES, "highest MB of a worker", "highest MB of the command"]
    return f"{' + '.join(TOGETHER)}, in shards of {SHARD:,} rows:\n\n" + markdown(header, rows)


def equal(folder: Path, options: argparse.Namespace) -> str:
    """Shards against one piece: every row, the corpus, the signatures; also with document frequencies of all rows.

    The three metrics are those that `memory` has scored, where it has: a command over finished shards does nothing.
    """
    return "\n".join(
        [
            compared(folder, shards_of(folder, max(options.rows)), TOGETHER, folder / "memory"),
            compared(folder, shards_of(folder, options.df_rows), ["cider_d"], folder / "equal"),
        ]
    )


def compared(folder: Path, shards: Sequence[Path], metrics: Sequence[str], output: Path) -> str:
    import numpy as np
    import pyarrow.parquet as pq

    shown = score(shards, metrics, output, go_on=True).document()
    start = time.perf_counter()
    whole = in_one_piece(shards, metrics)
    seconds = time.perf_counter() - start
    highest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    apart, place = dict.fromkeys(whole.per_caption, 0.0), 0
    for path in shards:
        found = pq.read_table(output / path.name, columns=list(apart))
        for name, values in whole.per_caption.items():
            own = found[name].to_numpy()
            apart[name] = max(apart[name], float(np.abs(own - values[place : place + len(own)]).max()))
        place += found.num_rows
    rows = []
    for name in apart:
        corpus = abs(shown["scores"][name] - whole.scores[name])
        rows.append([name, f"{apart[name]:.1e}", f"{corpus:.1e}", shown["signatures"][name] == whole.signatures[name]])
        if max(apart[name], corpus) > 1e-12 or place != len(whole):
            sys.exit(f"{name} is not that of one piece: {apart[name]} and {corpus}, {place} of {len(whole)} rows")
    header = ["score", "largest difference of a row", "difference of the corpus score", "same signature"]
    told = f"{place:,} rows in {len(shards)} shards, and by one call of `evaluate` on all of them"
    return f"{told} ({seconds:,.0f} s, {highest:.1f} GB):\n\n{markdown(header, rows)}"


def in_one_piece(shards: Sequence[Path], metrics: Sequence[str]) -> Any:
    """All rows in one data set, as files are read. Captions come again and again, and are held once."""
    import pyarrow.parquet as pq

    from capeval.evaluate import evaluate
    from capeval.io.captions.texts import cleaned
    from capeval.stream.forms.parquet import values_of
    from capeval.types import Dataset

    held: dict[Any, Any] = {}
    images, captions, sets = [], [], []
    for path in shards:
        table = pq.read_table(path)
        images += table["image_id"].to_pylist()
        captions += [held.setdefault(text, text) for text in cleaned(table["caption"].to_pylist())]
        for own in values_of(table["references"]):
            sets.append(tuple(held.setdefault(text, text) for text in cleaned(own)))
    return evaluate(Dataset(images, images, captions, sets, range(len(sets))), metrics)


def kills(folder: Path, options: argparse.Namespace) -> str:
    tool = HERE.parent / "tools" / "kill_stream.py"
    line = [sys.executable, str(tool), "--kills", str(options.kills), "--commands", str(options.kills // 25)]
    run = measured([*line, "--folder", str(folder / "kills")])
    return f"{run.output.strip().splitlines()[-1]}\n"


def faults(folder: Path, options: argparse.Namespace) -> str:
    """What is wrong with a shard or with the disk is told, and costs the other shards nothing; once it is mended, the
    same command makes what an undisturbed one made."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    calm = some(folder, 40_000, 4)
    pq.write_table(pa.concat_tables([pq.read_table(calm[2])] * 2), calm[2])  # the one that a disk may be too small for
    score(calm, ["rouge_l"], folder / "faults-calm")
    expected = contents(folder / "faults-calm")
    small = len(expected[calm[2].name]) * 3 // 4
    place = folder / "faults"
    shards = [place / path.name for path in calm]

    def full() -> None:
        """Files can grow no further: what a full disk is to who writes."""
        resource.setrlimit(resource.RLIMIT_FSIZE, (small, resource.RLIM_INFINITY))

    def cut(path: Path) -> None:
        path.write_bytes(path.read_bytes()[:-1000])

    def no_parquet(path: Path) -> None:
        path.write_bytes(os.urandom(10_000))

    def renamed(path: Path) -> None:
        pq.write_table(pq.read_table(path).rename_columns(["image_id", "words", "references"]), path)

    def numbers(path: Path) -> None:
        table = pq.read_table(path)
        pq.write_table(table.set_column(1, "caption", [list(range(table.num_rows))]), path)

    cases: dict[str, tuple[Callable[[Path], None] | None, Callable[[], None] | None]] = {
        "disk full": (None, full), "Parquet cut short": (cut, None), "no Parquet at all": (no_parquet, None),
        "captions under another name": (renamed, None), "captions of another type": (numbers, None),
    }  # fmt: skip
    rows = []
    for what, (spoil, before) in cases.items():
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(calm[0].parent, place)
        if spoil:
            spoil(shards[2])
        run = score(shards, ["rouge_l"], folder / "faults-out", before=before, may_fail=True)
        left = {name: data for name, data in contents(folder / "faults-out").items() if name.endswith(".parquet")}
        same = sum(expected[name] == data for name, data in left.items())
        said = run.output.strip().splitlines()[-1].replace(f"{place}/", "").replace(f"{folder}/faults-out/", "")
        shutil.copy(calm[2], shards[2])
        score(shards, ["rouge_l"], folder / "faults-out", go_on=True)
        again = {name: data for name, data in contents(folder / "faults-out").items() if name.endswith(".parquet")}
        mended = all(expected[name] == data for name, data in again.items()) and len(again) == len(shards)
        rows.append([what, run.code, said, f"{same} of {len(left)}", mended])
        if not run.code or same != len(left) or not mended:
            sys.exit(f"{what}: {run.output}")
    header = [
        "what is wrong",
        "exit code",
        "what is said last",
        "shards written, as without it",
        "all as without it, once mended",
    ]
    return markdown(header, rows)


def ray_cluster(folder: Path, options: argparse.Namespace) -> str:
    """Two nodes of one core against two local processes, in turns; one of the nodes killed; a row that fails."""
    import ray
    from ray.cluster_utils import Cluster

    from capeval.errors import DataError
    from capeval.stream.job import score_shards
    from capeval.stream.local import Local
    from capeval.stream.rayrunner import RayRunner
    from capeval.stream.work import Job

    shards = [str(path) for path in shards_of(folder, options.ray_rows)]
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
    ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")

    class Losing(RayRunner):
        def run(self, *arguments: Any) -> Any:
            for done, each in enumerate(super().run(*arguments)):
                if done == 2:
                    cluster.remove_node(nodes.pop(), allow_graceful=False)
                yield each

    def run(output: Path, runner: Any, paths: Sequence[str] = shards, **more: Any) -> tuple[float, Any]:
        shutil.rmtree(output, ignore_errors=True)
        start = time.perf_counter()
        done = score_shards(paths, Job(tuple(TOGETHER), str(output), **more), runner)
        return time.perf_counter() - start, done

    outputs, seconds = dict[str, dict[str, bytes]](), dict[str, list[float]]()
    local, on_ray, lost = "two local processes", "Ray, two nodes", "Ray, one of them killed in mid-run"
    turns: list[tuple[str, Any]] = [(local, Local(2)), (on_ray, RayRunner())] * options.ray_turns
    for what, runner in [*turns, (lost, Losing())]:
        took, _ = run(folder / "ray", runner)
        seconds.setdefault(what, []).append(took)
        outputs[what] = contents(folder / "ray")
    bad = [str(spoiled(path, folder / "ray-bad", row=i == 1)) for i, path in enumerate(some(folder, 4000, 4))]
    _, done = run(folder / "ray", RayRunner(), bad)
    try:
        run(folder / "ray", RayRunner(), bad, on_error="fail")
        sys.exit("a row that fails did not fail the job that asked for it")
    except DataError as problem:
        refused = str(problem).replace(f"{folder}/ray-bad/", "")
    ray.shutdown()
    cluster.shutdown()
    rows = []
    for what, each in seconds.items():
        if outputs[what] != outputs[local]:
            sys.exit(f"{what}: files differ from those of {local}")
        best = min(each)
        times = ", ".join(f"{one:.1f}" for one in each)
        more = ", ".join(f"{100 * (a / b - 1):+.0f} %" for a, b in zip(each, seconds[local])) if what == on_ray else ""
        rows.append([what, times, f"{options.ray_rows / best:,.0f}", more, "yes"])
    counts, first = done.manifest["rows"], done.manifest["failures"]["first"][0]
    return (
        f"{options.ray_rows:,} rows in {len(shards)} shards, cluster running, in turns; the first job on Ray is the "
        "first of its cluster:\n\n"
        + markdown(["runner", "seconds", "rows/s, the best", "against local, turn by turn", "same bytes"], rows)
        + f"\nA row that fails: {counts['scored']:,} of {counts['read']:,} rows scored, row {first['row']} of "
        f'{first["shard"]} named ({first["reason"]}). With `--on-error fail`: "{refused}"\n'
    )


def spoiled(path: Path, folder: Path, row: bool) -> Path:
    """A copy, with a row without a caption where that is asked for."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(exist_ok=True)
    table = pq.read_table(path)
    if row:
        captions = table["caption"].to_pylist()
        captions[7] = None
        table = table.set_column(1, "caption", pa.array(captions))
    pq.write_table(table, folder / path.name)
    return folder / path.name


AT_ONCE = 4


def pictures(folder: Path, options: argparse.Namespace) -> str:
    """A metric on pictures over webdataset shards: by the encoder, then from what it kept of them.

    It takes long: some shards at a time, and what was measured of them is kept, so that the next run goes on.
    """
    if not options.pictures:
        return ""
    files = sorted(options.pictures.glob("*.jpg"))[: options.picture_count]
    shards = write_picture_shards(folder / "pictures", files)
    notes = folder / "pictures.json"
    known: list[list[list[float]]] = json.loads(notes.read_text()) if notes.exists() else []
    for begin in range(len(known) * AT_ONCE, len(shards), AT_ONCE):
        if len(known) == options.picture_steps:
            break
        cache, runs, outputs = folder / "picture-cache", [], []
        shutil.rmtree(cache, ignore_errors=True)
        for _ in range(2):
            run = score(
                shards[begin : begin + AT_ONCE], ["uice_sem"], folder / "picture-scores",
                environment={"CAPEVAL_CACHE": str(cache)},
            )  # fmt: skip
            runs.append([run.document()["n"], run.seconds, run.cpu, run.worker_mb])
            outputs.append(contents(folder / "picture-scores"))
        if outputs[0] != outputs[1]:
            sys.exit("scores from what was kept of the pictures are not those of the pictures")
        known.append(runs)
        notes.write_text(json.dumps(known))
    rows = []
    for what, runs in zip(("encoded from the shards", "again, with what was kept of them"), zip(*known)):
        count, seconds, cpu = (sum(run[k] for run in runs) for k in range(3))
        rates = [f"{seconds:,.0f}", f"{count / seconds:,.1f}", f"{1000 * cpu / count:.1f}"]
        rows.append([what, f"{count:,.0f}", *rates, f"{max(run[3] for run in runs):,.0f}"])
    header = ["uice_sem", "pictures", "seconds", "pictures/s", "CPU ms a picture", "highest MB of a worker"]
    told = f"{AT_ONCE} webdataset shards of 1,000 pictures at a time, {len(known) * AT_ONCE} of {len(shards)} so far"
    told = told.removesuffix(" so far") if len(known) * AT_ONCE >= len(shards) else told
    told += "; the bytes of both runs are the same:"
    return f"{told}\n\n{markdown(header, rows)}"


PARTS = {
    "rates": rates, "memory": memory, "equal": equal, "kills": kills, "faults": faults, "ray": ray_cluster,
    "pictures": pictures,
}  # fmt: skip


def keep(name: str, text: str, began: str) -> None:
    """Puts a section into the results in place of an older one."""
    path = RESULTS / "scale.md"
    known = path.read_text("utf-8") if path.exists() else TITLE
    section = f"## {name}\n\n{began}\n\n{text.strip()}\n"
    print(section, flush=True)
    head, *parts = re.split(r"^(?=## )", known, flags=re.M)
    others = {part.split("\n")[0][3:]: part.strip() + "\n" for part in parts} | {name: section}
    path.write_text("\n".join([head.strip() + "\n", *(others[each] for each in PARTS if each in others)]), "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "capeval-scale")
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--rows", type=lambda text: [int(each) for each in text.split(",")], default=[10**6, 10**7])
    parser.add_argument("--rate-rows", type=int, default=10_000_000)
    parser.add_argument("--slow-rows", type=int, default=1_000_000, help="of METEOR and WMD")
    parser.add_argument("--parsed", type=int, default=200_000, help="distinct captions for spice_fast")
    parser.add_argument("--df-rows", type=int, default=1_000_000, help="of `cider_d` in one piece, and in shards")
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--ray-rows", type=int, default=1_000_000)
    parser.add_argument("--ray-turns", type=int, default=2)
    parser.add_argument("--picture-count", type=int, default=20_000)
    parser.add_argument("--pictures", type=Path, help="a folder of pictures")
    parser.add_argument("--picture-steps", type=int, help=f"stop after so many times {AT_ONCE},000 pictures")
    options = parser.parse_args()
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for name in options.parts.split(","):
        began = machine()
        if text := PARTS[name](folder, options):
            keep(name, text, began)
        else:
            print(f"{name} is left out: it needs a folder of pictures, --pictures DIR", file=sys.stderr)


if __name__ == "__main__":
    main()
