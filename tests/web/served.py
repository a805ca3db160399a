"""Servers that listen on a port of their own, and clients of them. Without the extra `web`, who imports this
is skipped."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the server needs: pip install 'capeval[web]'")
pytest.importorskip("multipart", reason="the server needs: pip install 'capeval[web]'")
pytest.importorskip("prometheus_client", reason="the server needs: pip install 'capeval[web]'")
uvicorn = pytest.importorskip("uvicorn", reason="the server needs: pip install 'capeval[web]'")
httpx = pytest.importorskip("httpx", reason="the client needs: pip install 'capeval[fetch]'")

from capeval.web.app import make_app  # noqa: E402
from capeval.web.guard import impatient  # noqa: E402
from capeval.web.settings import Limits, Settings  # noqa: E402

LIMITS = Limits(
    body_bytes=3_000_000, json_bytes=500_000, unpacked_bytes=2_000_000, rows=2_000, caption_characters=500,
    references=20, images=5, image_bytes=300_000, image_pixels=1_000_000, body_seconds=60.0, head_seconds=60.0,
)  # fmt: skip
QUICK = ["bleu", "rouge_l"]


class Listening:
    """A server on a port of its own."""

    def __init__(self, settings: Settings, board: Any = None) -> None:
        listening = socket.create_server(("127.0.0.1", 0), backlog=4096)
        self.port = listening.getsockname()[1]
        self.url = f"http://localhost:{self.port}"
        self.app = make_app(replace(settings, port=self.port), board)
        config = uvicorn.Config(
            self.app,
            http=impatient(settings.limits.head_seconds),
            ws="none",
            log_level="error",
            access_log=False,
            timeout_keep_alive=60,
        )
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [listening]}, daemon=True)
        self.thread.start()
        until = time.monotonic() + 30
        while not self.server.started and time.monotonic() < until:
            time.sleep(0.02)

    def close(self) -> None:
        self.server.should_exit = True
        self.thread.join(20)


@contextmanager
def served(settings: Settings, **more: Any) -> Iterator[Any]:
    """A client of a new server, which it has as `listening`."""
    server = Listening(settings)
    with httpx.Client(base_url=server.url, timeout=40, **more) as client:
        client.listening = server
        yield client
    server.close()


def scored(client: Any, content: dict[str, Any], **query: Any) -> Any:
    return client.post("/v1/score", json={"metrics": QUICK, **content}, params=query)


CAPTIONS = {
    "candidates": ["a cat on a mat", "two dogs"],
    "references": [["a cat sits on a mat", "the cat is on the mat"], ["two dogs run"]],
}
