"""The server under load: how long one caption takes, many at once, and whether memory grows.

    python benchmarks/serve.py [--requests 20000] [--together 1000] [--out FILE]

It asks a server of its own, in a process of its own. Times are wall times and so depend on what else the machine does:
the load is told beside them, and the processor time of the server for each request, which does not.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path

import httpx

TEXT = {
    "candidates": ["a man rides a bike down the street"],
    "references": [["a person is riding a bicycle", "a man on a bike rides down a street", "someone cycles"]],
    "metrics": ["bleu", "rouge_l", "meteor", "cider_d(df=coco-val2014)", "spice_fast", "spider_fast(df=coco-val2014)",
                "wmd", "uice_syn", "nneval"],
}  # fmt: skip
SMALL = {**TEXT, "metrics": ["bleu", "rouge_l"]}


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

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(20)


def one_by_one(server: Served, count: int) -> dict[str, float]:
    times = []
    with httpx.Client(base_url=server.url, timeout=120) as client:
        for _ in range(20):
            client.post("/v1/score", json=TEXT).raise_for_status()
        before = server.processor()
        for number in range(count):
            content = {**TEXT, "candidates": [f"a man number {number} rides a bike down the street"]}
            begin = time.perf_counter()
            client.post("/v1/score", json=content).raise_for_status()
            times.append(1000 * (time.perf_counter() - begin))
        used = 1000 * (server.processor() - before) / count
    times.sort()
    return {"median": times[count // 2], "p95": times[int(0.95 * count)], "processor": used}


async def together(url: str, count: int) -> tuple[float, dict[int, int]]:
    """All at once: how long until all are answered, and how."""
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    statuses: dict[int, int] = {}
    async with httpx.AsyncClient(base_url=url, timeout=600, limits=limits) as client:
        begin = time.perf_counter()
        for answer in await asyncio.gather(*(client.post("/v1/score", json=SMALL) for _ in range(count))):
            statuses[answer.status_code] = statuses.get(answer.status_code, 0) + 1
        return time.perf_counter() - begin, statuses


async def many(url: str, count: int, at_once: int = 20) -> None:
    async with httpx.AsyncClient(base_url=url, timeout=600) as client:
        left = iter(range(count))

        async def ask() -> None:
            for number in left:
                content = {**SMALL, "candidates": [f"caption {number} of a man on a bike"]}
                (await client.post("/v1/score", json=content)).raise_for_status()

        await asyncio.gather(*(ask() for _ in range(at_once)))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--together", type=int, default=1_000)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    server = Served()
    try:
        alone = one_by_one(server, 200)
        seconds, statuses = asyncio.run(together(server.url, given.together))
        asyncio.run(many(server.url, max(1000, given.requests // 10)))  # what fills up once has filled up
        before = server.memory()
        asyncio.run(many(server.url, given.requests))
        after = server.memory()
    finally:
        server.close()
    load = os.getloadavg()[0]
    lines = [
        "# The server under load", "",
        f"`python benchmarks/serve.py --requests {given.requests}`, load {load:.1f} on {os.cpu_count()} cores.", "",
        "| What | Measured |", "|---|---|",
        f"| one caption, all text metrics, warm | median {alone['median']:.1f} ms, p95 {alone['p95']:.1f} ms; "
        f"{alone['processor']:.1f} ms of processor time in the server |",
        f"| {given.together:,} small requests at once | {seconds:.1f} s; statuses {statuses} |",
        f"| memory before and after {given.requests:,} requests | {before:.0f} MB, {after:.0f} MB |", "",
    ]  # fmt: skip
    print("\n".join(lines))
    if given.out:
        given.out.write_text("\n".join(lines), "utf-8")


if __name__ == "__main__":
    main()
