"""Listening: the application on a socket, and what is said about where."""

from __future__ import annotations

import secrets
import socket
import sys
from dataclasses import replace
from pathlib import Path

import uvicorn

from capeval.errors import CapevalError
from capeval.io.files import PathLike
from capeval.web.app import make_app
from capeval.web.guard import impatient
from capeval.web.opening import read_board
from capeval.web.settings import Settings, is_loopback

_IDLE = 10
"""Seconds after which a connection without requests is closed."""


def serve(settings: Settings, *, board: PathLike | None = None, open_browser: bool = False) -> None:
    """Until it is interrupted. The address is told on standard error."""
    shown = None if board is None else read_board(Path(board))
    listening = _socket(settings)
    port = listening.getsockname()[1]
    settings = replace(settings, port=port)
    if not is_loopback(settings.host) and not settings.token:
        settings = replace(settings, token=secrets.token_urlsafe(24))
    address = address_of(settings)
    print(f"capeval is at {address} (end it with Ctrl-C)", file=sys.stderr, flush=True)
    if open_browser:
        import webbrowser

        webbrowser.open(address)
    config = uvicorn.Config(
        make_app(settings, shown),
        http=impatient(settings.limits.head_seconds),
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_keep_alive=_IDLE,
        timeout_graceful_shutdown=5,
        backlog=4096,
    )
    uvicorn.Server(config).run(sockets=[listening])


def address_of(settings: Settings) -> str:
    host = "localhost" if settings.host in ("127.0.0.1", "0.0.0.0", "::", "") else settings.host
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{settings.port}/" + (f"?token={settings.token}" if settings.token else "")


def _socket(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # The protocol is named because asyncio sends small answers at once (TCP_NODELAY) only where it is.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((settings.host, settings.port))
    except OSError as problem:
        listening.close()
        raise CapevalError(
            f"cannot listen at {settings.host}:{settings.port}: {problem.strerror or problem}. Another --port may do"
        ) from problem
    listening.listen(4096)
    return listening
