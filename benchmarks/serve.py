"""The server under load: how long one caption takes, many at once, and whether memory grows.

    python benchmarks/serve.py [--one 400] [--together 1000] [--requests 20000] [--out FILE]

It asks a server of its own, in a process of its own, for captions that it has not seen. Times are wall times and so
depend on what else the machine does: the load is told beside them, and the processor time of the server for each
request, which does not. `--one 0`, `--together 0` and `--requests 0` leave a part out.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import httpx

TABLE = "(df=coco-val2014)"
TEXT = [
    "bleu", "rouge_l", "meteor", f"cider{TABLE}", f"cider_d{TABLE}", "spice_fast", f"spider_fast{TABLE}", "wmd",
    "fluency", "meaning", "nneval", "uice_syn", "unified",
]  # fmt: skip
"""All that need no picture and come with capeval."""
OFFICIAL = ["spice", f"spider{TABLE}"]
"""Those that need a grammar, which does not."""
SMALL = ["bleu", "rouge_l"]


class Served:
    """A server in a process of its own."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "capeval", "serve", "--port", "0"]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        line = self.process.stderr.readline()
        self.url = line.split()[3].rstrip("/")

    def memory(self) -> float:
        """Megabytes in use."""
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(text.split("VmRSS:")[1].split()[0]) / 1024

    def processor(self) -> float:
        """Seconds of processor time so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def files(self) -> int:
        """Open files and connections."""
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(20)


class Captions:
    """Captions that nobody has written: the beginning of one embedded reference and the end of another. They are others
    each time, for parses are kept on disk."""

    def __init__(self) -> None:
        text = files("capeval").joinpath("data", "demo", "references.json").read_text("utf-8")
        self._known = [each.split() for references in json.loads(text).values() for each in references]
        self._chance, self._seen = random.Random(), set[str]()

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        while True:
            one, other = self._chance.choices(self._known, k=2)
            made = " ".join([*one[: self._chance.randint(2, len(one))], *other[len(other) // 2 :]])
            if made not in self._seen:
                self._seen.add(made)
                return made


def request(caption: str, references: list[str], metrics: list[str]) -> dict[str, Any]:
    return {"candidates": [caption], "references": [references], "metrics": metrics}


def one_by_one(server: Served, count: int, metrics: list[str], *, new_references: bool) -> dict[str, float]:
    """Milliseconds of requests with one caption, which the server has never seen, and five references."""
    times, captions = [], Captions()
    known = [[next(captions) for _ in range(5)] for _ in range(10)]
    warm = 20
    with httpx.Client(base_url=server.url, timeout=120) as client:
        before = 0.0
        for number in range(warm + count):
            if number == warm:
                before = server.processor()
            references = [next(captions) for _ in range(5)] if new_references else known[number % len(known)]
            content = request(next(captions), references, metrics)
            begin = time.perf_counter()
            client.post("/v1/score", json=content).raise_for_status()
            times.append(1000 * (time.perf_counter() - begin))
        used = 1000 * (server.processor() - before) / count
    times = sorted(times[warm:])
    return {"median": times[count // 2], "p95": times[int(0.95 * count)], "processor": used}


async def together(url: str, count: int) -> tuple[float, dict[int, int]]:
    """All at once: how long until all are answered, and how."""
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    captions = Captions()
    contents = [request(next(captions), ["a man on a bike rides down a street"], SMALL) for _ in range(count)]
    async with httpx.AsyncClient(base_url=url, timeout=600, limits=limits) as client:
        begin = time.perf_counter()
        answers = await asyncio.gather(*(client.post("/v1/score", json=content) for content in contents))
        return time.perf_counter() - begin, dict(Counter(answer.status_code for answer in answers))


async def many(url: str, count: int, captions: Captions, at_once: int = 8) -> None:
    """So many requests, every fifth with all text metrics, of captions that are new each time."""
    known = [[next(captions) for _ in range(5)] for _ in range(100)]
    async with httpx.AsyncClient(base_url=url, timeout=600) as client:
        left = iter(range(count))

        async def ask() -> None:
            for number in left:
                metrics = TEXT if number % 5 == 0 else SMALL
                content = request(next(captions), known[number % len(known)], metrics)
                (await client.post("/v1/score", json=content)).raise_for_status()

        await asyncio.gather(*(ask() for _ in range(at_once)))


def measured_alone(server: Served, count: int) -> Iterator[tuple[str, str]]:
    from capeval.run import Run
    from capeval.scene.official.grammar import grammar_path

    kinds = [("all text metrics", TEXT)]
    if grammar_path(Run().cache).is_file():
        kinds.append(("and the official SPICE and SPIDEr", [*TEXT, *OFFICIAL]))
    for name, metrics in kinds:
        for new_references in (False, True):
            found = one_by_one(server, count, metrics, new_references=new_references)
            yield (
                f"one new caption, {'new' if new_references else 'known'} references, {name}",
                f"median {found['median']:.1f} ms, p95 {found['p95']:.1f} ms; {found['processor']:.1f} ms of processor "
                "time in the server",
            )


def measured_memory(server: Served, count: int) -> Iterator[tuple[str, str]]:
    captions = Captions()
    asyncio.run(many(server.url, min(1000, count), captions))  # what fills up once has filled up
    seen = [(server.memory(), server.files())]
    for _ in range(4):
        asyncio.run(many(server.url, count // 4, captions))
        seen.append((server.memory(), server.files()))
        print(f"{seen[-1][0]:.0f} MB, {seen[-1][1]} open files", file=sys.stderr)
    yield (
        f"memory before, within and after {count:,} requests, every fifth with all text metrics",
        ", ".join(f"{memory:.0f}" for memory, _ in seen) + " MB",
    )
    yield "open files before and after", f"{seen[0][1]}, {seen[-1][1]}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--one", type=int, default=400)
    parser.add_argument("--together", type=int, default=1_000)
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    server, found, load = Served(), list[tuple[str, str]](), os.getloadavg()[0]
    try:
        if given.one:
            found += measured_alone(server, given.one)
        if given.together:
            seconds, statuses = asyncio.run(together(server.url, given.together))
            found.append((f"{given.together:,} small requests at once", f"{seconds:.1f} s; statuses {statuses}"))
        if given.requests:
            found += measured_memory(server, given.requests)
    finally:
        server.close()
    lines = [
        "# The server under load", "",
        f"`python benchmarks/serve.py --one {given.one} --together {given.together} --requests {given.requests}`, "
        f"load {load:.1f} at its begin on {os.cpu_count()} cores.", "",
        "| What | Measured |", "|---|---|", *(f"| {what} | {told} |" for what, told in found), "",
    ]  # fmt: skip
    print("\n".join(lines))
    if given.out:
        given.out.write_text("\n".join(lines), "utf-8")


if __name__ == "__main__":
    main()
