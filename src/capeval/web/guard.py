"""What stands before every request: who may ask, how much, how slowly; and what every answer says to browsers."""

from __future__ import annotations

import asyncio
import hmac
import logging
import time
from collections.abc import Callable
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from capeval.web.settings import Limits, Settings, is_loopback

COOKIE = "capeval_token"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""No code but our own files; styles of elements may carry numbers, such as how strongly a word is marked."""
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    "cache-control": "no-store",
}
_PATIENCE = 5.0
"""Seconds that the rest of a refused request is waited for."""
_OPEN = ("/healthz",)
"""Answered without a token: who watches over the server has none."""


def problem(status: int, message: str, **headers: str) -> JSONResponse:
    return JSONResponse({"error": message}, status, headers=headers or None)


class Guard:
    """Middleware: host, token, origin, sizes and times in; headers out; everything counted."""

    def __init__(self, app: ASGIApp, settings: Settings, count: Callable[[Scope, int, float], None]) -> None:
        self.app, self.settings, self.count = app, settings, count

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        begin, status = time.perf_counter(), 0

        async def sent(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            refusal = self._refusal(scope)
            if refusal is not None:
                await refusal(scope, receive, sent)
                return
            body = _Body(receive, scope, self.settings.limits)
            try:
                await self.app(scope, body, sent)
            except _TooMuch as too_much:
                await body.drain()
                await problem(too_much.status, str(too_much), connection="close")(scope, receive, sent)
        except ClientDisconnect:
            status = 499  # nobody is left to tell
        except Exception as wrong:
            logging.getLogger("capeval.web").error("%s failed", scope["path"], exc_info=wrong)
            if status:
                raise
            await problem(500, "something went wrong here; the server's log says what")(scope, receive, sent)
        finally:
            self.count(scope, status, time.perf_counter() - begin)

    def _refusal(self, scope: Scope) -> ASGIApp | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        # A name that leads here only by a trick of somebody's name server is not ours.
        if is_loopback(self.settings.host) and not is_loopback(_name(f"//{host}")):
            return problem(421, "this server is asked for as localhost only")
        if scope["method"] not in ("GET", "HEAD", "OPTIONS"):
            origin = headers.get("origin")
            from_elsewhere = headers.get("sec-fetch-site") not in (None, "same-origin", "none")
            if (origin and origin.partition("://")[2] != host) or from_elsewhere:
                return problem(403, "pages of other servers may not ask for this")
        if self.settings.token and scope["path"] not in _OPEN:
            return self._without_token(scope, headers)
        return None

    def _without_token(self, scope: Scope, headers: Headers) -> ASGIApp | None:
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = dict(query).get("token")
        if given is not None and scope["method"] == "GET" and self._fits(given):
            # The token leaves the address, so that nobody shares it with a link.
            rest = urlencode([(key, value) for key, value in query if key != "token"])
            # One slash: with two, what follows would be the name of another server.
            answer = RedirectResponse("/" + scope["path"].lstrip("/") + (f"?{rest}" if rest else ""), 303)
            answer.set_cookie(COOKIE, given, httponly=True, samesite="strict", max_age=30 * 86400)
            return answer
        kind, _, shown = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and self._fits(shown.strip()):
            return None
        cookie = SimpleCookie()
        try:
            cookie.load(headers.get("cookie", ""))
        except Exception:  # a broken cookie is none
            cookie.clear()
        if COOKIE in cookie and self._fits(cookie[COOKIE].value):
            return None
        message = "a token is needed: send it as `Authorization: Bearer TOKEN`, or open /?token=TOKEN in a browser"
        return problem(401, message, **{"www-authenticate": "Bearer"})

    def _fits(self, token: str) -> bool:
        return hmac.compare_digest(token.encode(errors="replace"), self.settings.token.encode())


def _name(address: str) -> str:
    """The name of the machine in an address; none where it cannot be read."""
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""


class _TooMuch(Exception):
    def __init__(self, status: int, message: str) -> None:
        self.status = status
        super().__init__(message)


class _Body:
    """The body of a request as it comes in, while it is neither too large nor too late."""

    def __init__(self, receive: Receive, scope: Scope, limits: Limits) -> None:
        self._receive, self._seconds = receive, limits.body_seconds
        headers = Headers(scope=scope)
        self._most = limits.body_bytes
        if not headers.get("content-type", "").startswith("multipart/"):
            self._most = min(limits.json_bytes, limits.body_bytes)
        self._size, self._until, self._is_whole = 0, time.monotonic() + limits.body_seconds, False
        length = headers.get("content-length", "")
        self._is_announced = length.isdigit() and int(length) > self._most

    async def __call__(self) -> Message:
        if self._is_whole:
            return await self._receive()  # nothing but the client's leaving can come now
        if self._is_announced:
            raise self._too_large()
        try:
            message = await asyncio.wait_for(self._receive(), max(0.001, self._until - time.monotonic()))
        except asyncio.TimeoutError:
            raise _TooMuch(408, f"the request did not come in within {self._seconds:,.0f} seconds") from None
        if message["type"] == "http.request":
            self._size += len(message.get("body", b""))
            if self._size > self._most:
                raise self._too_large()
            self._is_whole = not message.get("more_body", False)
        return message

    async def drain(self) -> None:
        """Takes in what is left, within reason: who is still sending does not read what is said."""
        left, until = 2 * self._most, time.monotonic() + _PATIENCE
        while not self._is_whole and left > 0:
            try:
                message = await asyncio.wait_for(self._receive(), max(0.001, until - time.monotonic()))
            except asyncio.TimeoutError:
                return
            left -= len(message.get("body", b""))
            self._is_whole = message["type"] != "http.request" or not message.get("more_body", False)

    def _too_large(self) -> _TooMuch:
        return _TooMuch(413, f"the request has more than {self._most:,} bytes")


def impatient(head_seconds: float) -> type[Any]:
    """uvicorn's protocol, which ends connections whose request does not come: its own waits for ever."""
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Impatient(H11Protocol):  # type: ignore[misc, unused-ignore]
        _late: Any = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._wait()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            is_asked = self.cycle is not None and not self.cycle.response_complete
            if is_asked and self._late:
                self._late.cancel()
                self._late = None
            elif not is_asked and not self._late:
                self._wait()

        def connection_lost(self, exc: Exception | None) -> None:
            if self._late:
                self._late.cancel()
            super().connection_lost(exc)

        def _wait(self) -> None:
            self._late = self.loop.call_later(head_seconds, self._leave)

        def _leave(self) -> None:
            self._late = None
            if self.cycle is None or self.cycle.response_complete:
                self.transport.close()

    return Impatient
