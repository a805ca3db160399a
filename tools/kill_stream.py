"""Kills scoring runs at random moments, goes on with the same command, and compares what comes out byte for byte.

    python tools/kill_stream.py [--kills 1000] [--seed 0] [--folder DIR] [--commands 0]

Jobs of four kinds (plain, with a filter, with document frequencies of all shards, the best share) over small shards of
three forms. A run is a fork of this process, so that most kills hit the work and not the start of Python; `--commands`
of the kills hit whole commands with two worker processes instead. A run that ends before its kill is compared with the
undisturbed one, and its folder is begun anew.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from capeval.stream.job import score_shards
from capeval.stream.local import Local
from capeval.stream.work import Job

JOBS: dict[str, dict[str, Any]] = {
    "plain": {"metrics": ("rouge_l", "bleu_4")},
    "filter": {"metrics": ("rouge_l",), "filter": "rouge_l > 0.3 and length < 9"},
    "frequencies": {"metrics": ("cider_d", "rouge_l")},
    "best": {"metrics": ("rouge_l",), "top": 0.3},
}
WORDS = "a man dog runs on the beach with red ball two people in green park".split()  # noqa: SIM905


def make_shards(folder: Path, draw: random.Random, count: int = 8, rows: int = 60) -> list[str]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True)
    paths = []
    for shard in range(count):
        table = [
            {
                "image_id": f"{draw.randrange(count * rows // 2)}",
                "caption": " ".join(draw.choices(WORDS, k=draw.randint(1, 12))),
                "references": [" ".join(draw.choices(WORDS, k=draw.randint(3, 12))) for _ in range(draw.randint(1, 5))],
            }
            for _ in range(rows)
        ]
        table[3]["caption"] = None  # a row that fails, in every shard
        path = folder / f"{shard:03d}.{('parquet', 'jsonl', 'jsonl.gz')[shard % 3]}"
        if path.suffix == ".parquet":
            pq.write_table(pa.Table.from_pylist(table), path)
        else:
            import gzip

            opened = gzip.open if path.suffix == ".gz" else open
            with opened(path, "wt") as stream:
                stream.writelines(json.dumps(row) + "\n" for row in table)
        paths.append(str(path))
    return paths


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}


def fork(job: Job, shards: list[str]) -> Callable[[], int]:
    """Starts a run in a child; gives what kills it after a while and tells how it ended (0: by itself)."""
    child = os.fork()
    if not child:
        code = 1
        try:
            score_shards(shards, job, Local(1))
            code = 0
        except BaseException as problem:
            print(repr(problem), file=sys.stderr)
        finally:
            os._exit(code)

    def end() -> int:
        os.kill(child, signal.SIGKILL)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    return end


def command(job: Job, shards: list[str]) -> Callable[[], int]:
    wanted = [part for metric in job.metrics for part in ("-m", metric)]
    more = [part for name in ("filter", "top") if (value := getattr(job, name)) for part in (f"--{name}", str(value))]
    line = [sys.executable, "-m", "capeval", "score", *shards, *wanted, *more, "-o", job.output, "--threads", "2"]
    child = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def end() -> int:
        child.kill()  # the command alone: its workers have to see for themselves
        return child.wait()

    return end


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--commands", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp())
    shutil.rmtree(folder, ignore_errors=True)
    draw = random.Random(options.seed)
    shards = make_shards(folder / "in", draw)
    kills = completed = 0
    for number, (name, settings) in enumerate(JOBS.items()):
        calm = Job(output=str(folder / f"{name}-calm"), **settings)
        score_shards(shards, calm, Local(1))
        expected = contents(Path(calm.output))
        shutil.rmtree(calm.output)
        start = time.monotonic()
        score_shards(shards, calm, Local(1))  # again, now that all is loaded
        usual = time.monotonic() - start
        output = folder / name
        job = Job(output=str(output), **settings)
        for begin, wanted, longest in (
            (fork, (options.kills - options.commands) // len(JOBS), 1.2 * usual),
            (command, options.commands // len(JOBS), 10 * usual + 3.0),
        ):
            done = 0
            while done < wanted + (number < (options.kills - options.commands) % len(JOBS) and begin is fork):
                end = begin(job, shards)
                time.sleep(draw.random() * longest)
                code = end()
                if code == -signal.SIGKILL:
                    done += 1
                    continue
                if code:
                    print(f"{name}: a run failed with exit code {code}")
                    return 1
                if contents(output) != expected:
                    print(f"{name}: what came out after kills differs from the undisturbed run, in {output}")
                    return 1
                completed += 1
                shutil.rmtree(output)
            kills += done
            score_shards(shards, job, Local(1))  # whatever the last kill left
            if contents(output) != expected:
                print(f"{name}: what came out after kills differs from the undisturbed run, in {output}")
                return 1
            completed += 1
    print(
        f"{kills:,} kills over {completed:,} jobs that were completed after them: every file is the same, byte for byte"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
