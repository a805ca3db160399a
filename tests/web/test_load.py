"""Many at once, and many one after the other: small versions of what `benchmarks/serve.py` does."""

from __future__ import annotations

import asyncio
import gc
from pathlib import Path
from typing import Any

import httpx
import pytest

from .served import CAPTIONS

SMALL = {**CAPTIONS, "metrics": ["bleu", "rouge_l"]}


async def _together(url: str, count: int) -> list[int]:
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    async with httpx.AsyncClient(base_url=url, timeout=240, limits=limits) as client:
        answers = await asyncio.gather(*(client.post("/v1/score", json=SMALL) for _ in range(count)))
        return [answer.status_code for answer in answers]


def test_a_hundred_requests_at_once(client: Any) -> None:
    assert asyncio.run(_together(client.listening.url, 100)) == [200] * 100


def test_nothing_is_left_of_requests(client: Any) -> None:
    """No jobs, no files, no objects of ours."""
    from capeval.web.jobs import Job

    server = client.listening.app.state.server
    for _ in range(30):
        assert client.post("/v1/score", json=SMALL).status_code == 200
        assert client.post("/v1/score", content=b"{", headers={"content-type": "application/json"}).status_code == 422
    gc.collect()
    assert server.desk.waiting == 0
    assert sum(server.desk.counts().values()) == 0
    assert not [path for path in server.desk.folder.iterdir() if path.name != "lock"]
    assert sum(type(each) is Job for each in gc.get_objects()) <= 2


def test_memory_does_not_grow(client: Any) -> None:
    status = Path("/proc/self/status")
    if not status.exists():
        pytest.skip("memory is read from /proc")

    def memory() -> int:
        gc.collect()
        return int(status.read_text().split("VmRSS:")[1].split()[0])

    asyncio.run(_together(client.listening.url, 100))
    before = memory()
    for _ in range(4):
        asyncio.run(_together(client.listening.url, 50))
    assert memory() - before < 8_000  # kilobytes; a result of ours has some 20
