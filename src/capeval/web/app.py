"""The application: all addresses behind one guard."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response

from capeval.web import rest
from capeval.web.guard import Guard, problem
from capeval.web.refusals import Refused
from capeval.web.settings import Settings
from capeval.web.state import Server


def make_app(settings: Settings) -> Starlette:
    server = Server(settings)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        if settings.warm:
            server.warm()
        try:
            yield
        finally:
            server.close()

    app = Starlette(
        routes=[*rest.ROUTES],
        middleware=[Middleware(Guard, settings=settings, count=server.counters.count)],
        exception_handlers={Refused: _refused, HTTPException: _not_found},
        lifespan=lifespan,
    )
    app.state.server = server
    return app


async def _refused(request: Request, exc: Exception) -> Response:
    assert isinstance(exc, Refused)
    return problem(exc.status, str(exc), **({"retry-after": "5"} if exc.status == 429 else {}))


async def _not_found(request: Request, exc: Exception) -> Response:
    assert isinstance(exc, HTTPException)
    told = {404: "there is nothing at this address", 405: "this address is not asked in this way"}
    return problem(exc.status_code, told.get(exc.status_code, exc.detail), **(dict(exc.headers) if exc.headers else {}))
