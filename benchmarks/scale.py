"""Captions by the million: rows a second, memory, equality, kills, Ray, pictures. One command:

    python benchmarks/scale.py [--folder DIR] [--parts rates,memory,equal,kills,ray] [--rows 1000000,10000000]
    python benchmarks/scale.py --parts pictures --pictures DIR --features FILE

Shards are made in DIR (1.3 GB for 10 M rows) and stay there. Each part writes its section to results/scale.md, and
leaves those of the others as they are. On a machine with other work CPU time is what can be compared: seconds of all
processes, user and system, beside those of the clock.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from common import RESULTS, machine, markdown
from scaledata import SHARD, pool, write_shards

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


def score(
    shards: Sequence[Path],
    metrics: Sequence[str],
    output: Path,
    *more: str,
    environment: dict[str, str] | None = None,
) -> Measured:
    shutil.rmtree(output, ignore_errors=True)
    wanted = [part for metric in metrics for part in ("-m", metric)]
    line = [*CAPEVAL, "score", *map(str, shards), *wanted, "-o", str(output), "--format", "json", *more]
    return measured(line, environment)


def shards_of(folder: Path, rows: int) -> list[Path]:
    write_shards(folder / "shards", rows)
    return sorted((folder / "shards").glob("*.parquet"))[: -(-rows // SHARD)]


def per_second(rows: int, run: Measured) -> list[str]:
    """By the clock; and what two free cores would do by the CPU time."""
    return [f"{rows / run.seconds:,.0f}", f"{1e6 * run.cpu / rows:.1f}", f"{2 * rows / run.cpu:,.0f}"]


def rates(folder: Path, options: argparse.Namespace) -> str:
    """CPU time of one process on one shard, once all is loaded; two cores do two shards at once."""
    from capeval.stream.work import Job, Work

    rows = []
    for metrics, count in [
        (TOGETHER, options.rate_rows), (["bleu"], options.rate_rows), (["rouge_l"], options.rate_rows),
        (["cider_d(df=coco-val2014)"], options.rate_rows), (["spice_fast"], options.slow_rows),
        (["meteor"], options.slow_rows), (["wmd"], options.slow_rows),
    ]:  # fmt: skip
        (shard,), (tiny,) = _some(folder, count, 1), _some(folder, 50, 1)
        work = Work(Job(tuple(metrics), str(folder / "rates")))
        work.state.make()
        work.do("score", str(tiny), lambda rows: None)
        start, cpu = time.perf_counter(), time.process_time()
        record = work.do("score", str(shard), lambda rows: None)
        seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
        if "problem" in record:
            rows.append([" + ".join(metrics), record["problem"], "", "", "", ""])
            continue
        distinct = _distinct([shard])
        figures = [f"{1e6 * cpu / count:.1f}", f"{2 * count / cpu:,.0f}", f"{2 * distinct / cpu:,.0f}"]
        rows.append([" + ".join(metrics), f"{count:,}", f"{count / seconds:,.0f}", *figures])
    header = [
        "metrics", "rows", "rows/s by the clock, one process", "CPU µs a row", "rows/s on two free cores, by CPU time",
        "distinct captions/s, the same",
    ]  # fmt: skip
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
    from capeval.io.captions.texts import cleaned
    from capeval.types import Dataset

    metrics = ["bleu", "rouge_l", "cider_d", "cider_d(df=coco-val2014)"]
    shards = _some(folder, options.equal_rows, 4)
    run = score(shards, metrics, folder / "equal")
    found = pa.concat_tables([pq.read_table(path) for path in sorted((folder / "equal").glob("*.parquet"))])
    images, captions = found["image_id"].to_pylist(), cleaned(found["caption"].to_pylist())
    sets = [tuple(cleaned(each)) for each in found["references"].to_pylist()]  # as all files are read
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


def ray_cluster(folder: Path, options: argparse.Namespace) -> str:
    """Two nodes of one core against two local processes, and one of the nodes killed in mid-run."""
    import ray
    from ray.cluster_utils import Cluster

    from capeval.stream.job import score_shards
    from capeval.stream.local import Local
    from capeval.stream.rayrunner import RayRunner
    from capeval.stream.work import Job

    shards = [str(path) for path in _some(folder, options.ray_rows, 10)]
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
    ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")

    class Losing(RayRunner):
        def run(self, *arguments):
            for done, each in enumerate(super().run(*arguments)):
                if done == 2:
                    cluster.remove_node(nodes.pop(), allow_graceful=False)
                yield each

    rows, outputs = [], []
    runners = {"two local processes": Local(2), "Ray, two nodes": RayRunner(), "Ray, one of them killed": Losing()}
    for what, runner in runners.items():
        output = folder / f"ray-{len(outputs)}"
        shutil.rmtree(output, ignore_errors=True)
        start = time.perf_counter()
        score_shards(shards, Job(tuple(TOGETHER), str(output)), runner)
        seconds = time.perf_counter() - start
        outputs.append({path.name: path.read_bytes() for path in output.iterdir() if path.is_file()})
        rows.append([what, f"{seconds:.1f}", f"{options.ray_rows / seconds:,.0f}", outputs[-1] == outputs[0]])
    ray.shutdown()
    cluster.shutdown()
    header = ["runner", "seconds", "rows/s", "same bytes"]
    return f"{options.ray_rows:,} rows in 10 shards, cluster running:\n\n" + markdown(header, rows)


def pictures(folder: Path, options: argparse.Namespace) -> str:
    """A metric on pictures over webdataset shards: by the encoder, from the cache, and from a feature store."""
    if not options.pictures or not options.features:
        sys.exit("this part needs --pictures DIR and --features FILE")
    from capeval.io.features import open_features

    known = open_features(options.features)
    files = [path for path in sorted(options.pictures.glob("*.jpg")) if path.stem in known][: options.picture_count]
    captions = [each[0] for each in pool()]
    shards = []
    (folder / "pictures").mkdir(exist_ok=True)
    for begin in range(0, len(files), 1000):
        path = folder / "pictures" / f"{begin // 1000:03d}.tar"
        with tarfile.open(path, "w") as archive:
            for i, file in enumerate(files[begin : begin + 1000], begin):
                text = captions[i % len(captions)].encode()
                info = tarfile.TarInfo(f"{file.stem}.txt")
                info.size = len(text)
                archive.addfile(info, io.BytesIO(text))
                archive.add(file, f"{file.stem}.jpg")
        shards.append(path)
    few = _first_samples(shards[0], folder / "few", options.encode_count)
    rows = []
    with tempfile.TemporaryDirectory() as cache:
        for what in ("encoded from the shards", "again, with what is kept in the cache"):
            run = score(few, ["uice_sem"], folder / "picture-scores", environment={"CAPEVAL_CACHE": cache})
            rows.append([what, f"{options.encode_count:,}", *_picture_rates(options.encode_count, run)])
    run = score(shards, ["uice_sem"], folder / "picture-scores", "--features", str(options.features))
    rows.append(["from a feature store", f"{len(files):,}", *_picture_rates(len(files), run)])
    return markdown(["uice_sem over webdataset shards", "pictures", "pictures/s", "CPU ms a picture", "peak MB"], rows)


def _picture_rates(count: int, run: Measured) -> list[str]:
    return [f"{count / run.seconds:,.1f}", f"{1000 * run.cpu / count:.1f}", f"{run.peak_mb:,.0f}"]


def _first_samples(shard: Path, folder: Path, count: int) -> list[Path]:
    """In two shards, one for each core."""
    folder.mkdir(exist_ok=True)
    paths = [folder / "0.tar", folder / "1.tar"]
    with tarfile.open(shard) as archive:
        members = archive.getmembers()[: 2 * count]
        for path, part in zip(paths, (members[:count], members[count:]), strict=True):
            with tarfile.open(path, "w") as some:
                for member in part:
                    some.addfile(member, archive.extractfile(member))
    return paths


PARTS = {
    "rates": rates, "memory": memory, "equal": equal, "kills": kills, "ray": ray_cluster, "pictures": pictures,
}  # fmt: skip


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
    parser.add_argument("--parts", default="rates,memory,equal,kills,ray")
    parser.add_argument("--rows", type=lambda text: [int(each) for each in text.split(",")], default=[10**6, 10**7])
    parser.add_argument("--rate-rows", type=int, default=200_000)
    parser.add_argument("--slow-rows", type=int, default=20_000)
    parser.add_argument("--equal-rows", type=int, default=100_000)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--ray-rows", type=int, default=1_000_000)
    parser.add_argument("--picture-count", type=int, default=20_000)
    parser.add_argument("--encode-count", type=int, default=1000, help="pictures that are encoded")
    parser.add_argument("--pictures", type=Path, help="a folder of pictures named by their id")
    parser.add_argument("--features", type=Path, help="a feature store of the same pictures")
    options = parser.parse_args()
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for name in options.parts.split(","):
        keep(name, PARTS[name](folder, options))


if __name__ == "__main__":
    main()
