"""A server that is killed in the middle of a job: the next one starts clean, and nothing half-written is left."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import capeval
from capeval.run import cache_dir

from . import served  # noqa: F401  skips where there is no server
from .test_rest import picture

httpx = pytest.importorskip("httpx")
SMALL = {"candidates": ["a cat on a mat"], "references": [["a cat sits on a mat"]], "metrics": ["bleu", "spice_fast"]}


@contextmanager
def running(folder: Path) -> Iterator[tuple[subprocess.Popen[str], Any]]:
    """`capeval serve` as a user starts it, with temporary files and a cache of its own, and a client of it."""
    for name in ("tmp", "cache"):
        (folder / name).mkdir(exist_ok=True)
    index = cache_dir() / "meteor"  # which takes long to make, and has tests of its own
    if index.is_dir() and not (folder / "cache" / "meteor").exists():
        (folder / "cache" / "meteor").symlink_to(index)
    surroundings = {**os.environ, "TMPDIR": str(folder / "tmp"), "CAPEVAL_CACHE": str(folder / "cache")}
    command = [sys.executable, "-m", "capeval", "serve", "--port", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=surroundings)
    assert process.stderr is not None
    try:
        address = re.search(r"http://\S+", process.stderr.readline())
        assert address is not None
        with httpx.Client(base_url=address[0], timeout=120) as client:
            yield process, client
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.wait(60)
        process.stderr.close()


def uploads(rows: int) -> list[tuple[str, tuple[str, bytes]]]:
    candidates = [{"image_id": str(i), "caption": f"a man number {i} rides bike {i % 97}"} for i in range(rows)]
    references = {str(i): ["a person is riding a bicycle", f"someone on bike {i}"] for i in range(rows)}
    return [
        ("candidates", ("mine.json", json.dumps(candidates).encode())),
        ("references", ("refs.json", json.dumps(references).encode())),
        ("images", ("0.png", picture())),
    ]


def contents(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_killed_in_the_middle_of_a_job(tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    with running(tmp_path) as (process, client):
        # Asked for again and again, so that more than one job is at work, and results are being written.
        form = {"metrics": "bleu,wmd,spice_fast,rouge_l,meteor"}
        keys = [
            client.post("/v1/score", files=uploads(15_000), data=form, params={"wait": 0}).json()["id"]
            for _ in range(2)
        ]
        until = time.monotonic() + 60
        while not any(client.get(f"/v1/jobs/{key}").json()["scored"] for key in keys) and time.monotonic() < until:
            time.sleep(0.05)
        states = [client.get(f"/v1/jobs/{key}").json()["state"] for key in keys]
        assert "running" in states
        process.kill()
        process.wait(20)
    left = contents(tmp_path / "tmp")
    assert any(name.endswith("mine.json") or "candidates" in name for name in left)  # nobody could take them away

    with running(tmp_path) as (process, client):
        assert client.get("/healthz").status_code == 200
        now = contents(tmp_path / "tmp")
        assert not set(left) & set(now)  # what the killed one left is gone
        assert [client.get(f"/v1/jobs/{key}").status_code for key in keys] == [404, 404]
        found = client.post("/v1/score", json=SMALL).json()
        expected = capeval.score(SMALL["candidates"], SMALL["references"], metrics=SMALL["metrics"])
        assert found["scores"] == expected.scores
        # A whole table comes out, in a form whose reader would stumble over half of one.
        key = client.post("/v1/score", files=uploads(300), data={"metrics": "bleu"}, params={"wait": 0}).json()["id"]
        while client.get(f"/v1/jobs/{key}").json()["state"] in ("waiting", "running"):
            time.sleep(0.05)
        table = client.get(f"/v1/jobs/{key}/result", params={"format": "csv"}).text
        values = np.genfromtxt(io.StringIO(table), delimiter=",", skip_header=1, usecols=-1)
        assert len(values) == 300
    assert contents(tmp_path / "tmp") == []  # a server that is asked to end leaves nothing
    assert not [name for name in contents(tmp_path / "cache") if name.endswith((".tmp", ".part"))]
