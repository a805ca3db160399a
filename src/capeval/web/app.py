"""The application: all addresses behind one guard."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response

from capeval.documents import Document
from capeval.web import pages, rest
from capeval.web.guard import Guard, problem
from capeval.web.refusals import Refused
from capeval.web.settings import Settings
from capeval.web.state import Server


def make_app(settings: Settings, board: Document | None = None) -> Starlette:
    server = Server(settings, board)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        if settings.warm:
            server.warm()
        try:
            yield
        finally:
            server.close()

    app = Starlette(
        routes=[*rest.ROUTES, *pages.ROUTES],
        middleware=[Middleware(Guard, settings=settings, count=server.counters.count)],
        exception_handlers={Refused: _refused, HTTPException: _not_found},
        lifespan=lifespan,
    )
    app.state.server = server
    return app


async def _refused(request: Request, exc: Exception) -> Response:
    assert isinstance(exc, Refused)
    if not _is_program(request):
        return pages.error_page(exc.status, str(exc))
    return problem(exc.status, str(exc), **({"retry-after": "5"} if exc.status == 429 else {}))


async def _not_found(request: Request, exc: Exception) -> Response:
    assert isinstance(exc, HTTPException)
    told = {404: "there is nothing at this address", 405: "this address is not asked in this way"}
    if exc.status_code == 404 and not _is_program(request):
        return pages.error_page(404, told[404])
    return problem(exc.status_code, told.get(exc.status_code, exc.detail), **(dict(exc.headers) if exc.headers else {}))


def _is_program(request: Request) -> bool:
    """Who asks there is told in JSON what is wrong, and others on a page."""
    return str(request.url.path).startswith(("/v1/", "/metrics", "/healthz"))
