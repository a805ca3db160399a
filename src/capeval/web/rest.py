"""`/v1`: scoring for programs. Each function answers one address; `openapi.py` describes them."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
from starlette.background import BackgroundTask
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.routing import Route

from capeval.errors import CapevalError
from capeval.io.scores import write_rows
from capeval.registry import metric_classes
from capeval.results import Result
from capeval.types import parameters_of
from capeval.version import __version__
from capeval.web.jobs import Desk, Job
from capeval.web.openapi import document
from capeval.web.orders import Form, Order, Upload, order_from_form, order_from_json, told
from capeval.web.refusals import Refused
from capeval.web.scoring import answer
from capeval.web.state import Server

_LONGEST_WAIT = 300.0
_USUAL_WAIT = 30.0
FORMATS = {
    "json": "application/json",
    "jsonl": "application/x-ndjson",
    "csv": "text/csv; charset=utf-8",
    "tsv": "text/tab-separated-values; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
}
_WATCH = 0.15
"""Seconds between two looks at a job that somebody watches."""
_BREATH = 15.0
"""Seconds of silence after which a word is sent, so that nobody on the way takes the connection for dead."""


def server_of(request: Request) -> Server:
    found: Server = request.app.state.server
    return found


def reply(content: Any, status: int = 200, **headers: str) -> Response:
    return Response(msgspec.json.encode(content), status, headers=headers or None, media_type="application/json")


async def score(request: Request) -> Response:
    """Waits for the result; a job is the answer where that takes longer than the client cares to wait."""
    wait = _number(request.query_params.get("wait"), _USUAL_WAIT)
    server = server_of(request)
    job = await accepted(request)
    future = asyncio.wrap_future(server.desk.hand_in(job, server.scorer.score))
    if wait > 0:
        await asyncio.wait([future], timeout=wait)
    if not future.done():
        server.desk.keep(job)
        return reply(shown(job), 202, location=f"/v1/jobs/{job.id}")
    try:
        if job.state != "done":
            raise Refused(job.problem or "the job was cancelled", job.status if job.problem else 409)
        server.counters.captions.inc(job.rows)
        return await asyncio.to_thread(lambda: reply(answer(job)))
    finally:
        server.desk.drop(job)


async def accepted(request: Request) -> Job:
    """The job that a request asks for, read and checked."""
    server, kind = server_of(request), request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/json":
        body = await request.body()
        order = await asyncio.to_thread(_read, lambda: order_from_json(body, server.desk.limits), None)
        return server.desk.new_job(order)
    if kind != "multipart/form-data":
        raise Refused("send application/json, or files as multipart/form-data", 415)
    try:
        async with request.form(max_files=server.desk.limits.images + 50, max_fields=200) as form:
            return await asyncio.to_thread(_from_form, form_of(form), server.desk)
    except (MultiPartException, HTTPException) as problem:
        raise Refused(f"the form cannot be read: {getattr(problem, 'message', '') or problem}", 400) from None


def _read(read: Any, folder: Path | None) -> Order:
    try:
        order: Order = read()
        return order
    except Refused:
        raise
    except CapevalError as problem:
        raise Refused(told(problem, folder)) from None


def _from_form(form: Form, desk: Desk) -> Job:
    import shutil

    folder = desk.new_folder()
    try:
        return desk.new_job(_read(lambda: order_from_form(form, folder, desk.limits), folder), folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def form_of(given: FormData) -> Form:
    """The fields by name; what is not known is refused, so that a slip of the pen shows."""
    form = Form()
    for name, value in given.multi_items():
        if name in ("candidates", "references", "images"):
            if not isinstance(value, UploadFile):
                raise Refused(f"{name} must be a file")
            if value.filename or value.size:  # a browser sends an empty one where none was chosen
                getattr(form, name).append(Upload(value.filename or "", value.file))
        elif isinstance(value, UploadFile):
            raise Refused(f"there is no file {name[:40]!r}; there are candidates, references and images")
        elif name == "metrics":
            form.metrics += [value] if value.strip() else []
        elif name == "tokenizer":
            form.tokenizer = value
        elif name in ("per_caption", "intervals"):
            if value not in ("true", "false", "on"):
                raise Refused(f"{name} is true or false")
            setattr(form, name, value != "false")
        else:
            raise Refused(f"there is no field {name[:40]!r}")
    return form


def _number(text: str | None, usual: float) -> float:
    if text is None:
        return usual
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= _LONGEST_WAIT:
        raise Refused(f"wait is a number of seconds from 0 to {_LONGEST_WAIT:.0f}", 400)
    return value


# Jobs -----------------------------------------------------------------------------------------------------------------


def shown(job: Job) -> dict[str, Any]:
    """What is known of a job."""
    return {
        "id": job.id,
        "state": job.state,
        "step": job.step,
        "share": job.share,
        "rows": job.rows,
        "scored": list(job.result.scores) if job.result else [],
        "notes": list(job.notes),
        "problem": job.problem,
    }


async def job(request: Request) -> Response:
    return reply(shown(server_of(request).find(request.path_params["id"])))


async def cancel(request: Request) -> Response:
    """Ends a job and forgets it."""
    server = server_of(request)
    found = server.find(request.path_params["id"])
    found.cancel()
    server.desk.drop(found)
    return reply(shown(found))


async def events(request: Request) -> Response:
    """Server-sent events: what is known of the job, whenever that changes, until it is over."""
    found = server_of(request).find(request.path_params["id"])
    return StreamingResponse(_events(found), media_type="text/event-stream")


async def _events(job: Job) -> AsyncIterator[bytes]:
    seen, silent = -1, 0.0
    while True:
        over = job.is_over
        if job.changes != seen:
            seen, silent = job.changes, 0.0
            name = "end" if over else "progress"
            yield f"event: {name}\ndata: {json.dumps(shown(job))}\n\n".encode()
        elif silent > _BREATH:
            silent = 0.0
            yield b": still here\n\n"
        if over:
            return
        await asyncio.sleep(_WATCH)
        silent += _WATCH


async def result(request: Request) -> Response:
    """Of a job that is done; a table has one row for each caption."""
    form = request.query_params.get("format", "json")
    if form not in FORMATS:
        raise Refused(f"format is one of {', '.join(FORMATS)}", 400)
    server = server_of(request)
    found = server.find(request.path_params["id"])
    if found.state != "done" or found.result is None:
        raise Refused(f"the job is {found.state}" + (f": {found.problem}" if found.problem else ""), 409)
    if form == "json":
        return await asyncio.to_thread(lambda: reply(answer(found, captions=True)))
    return await table_file(found.result, form, server.desk)


async def table_file(scored: Result, form: str, desk: Desk) -> Response:
    """One row for each caption, as a file that goes when it was sent."""
    folder = desk.new_folder()
    path = folder / f"scores.{form}"

    def remove() -> None:
        path.unlink(missing_ok=True)
        folder.rmdir()

    try:
        await asyncio.to_thread(write_rows, path, scored.records())
    except CapevalError as problem:
        remove()
        raise Refused(told(problem, folder)) from None
    return FileResponse(path, media_type=FORMATS[form], filename=path.name, background=BackgroundTask(remove))


# What there is --------------------------------------------------------------------------------------------------------


async def metrics(request: Request) -> Response:
    return reply([
        {
            "name": name,
            "scores": list(metric.info.names),
            "needs": list(metric.info.needs),
            "bounds": [each if math.isfinite(each) else None for each in metric.info.bounds],
            "parameters": {field.name: field.default for field in parameters_of(metric)},
            "summary": metric.info.summary,
            "citation": metric.info.citation,
            "revision": metric.info.revision,
        }
        for name, metric in metric_classes().items()
    ])  # fmt: skip


async def openapi(request: Request) -> Response:
    return reply(document(server_of(request).settings))


async def healthz(request: Request) -> Response:
    return reply({"status": "ok", "version": __version__})


async def prometheus(request: Request) -> Response:
    text = await asyncio.to_thread(server_of(request).counters.text)
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")


ROUTES = [
    Route("/v1/score", score, methods=["POST"]),
    Route("/v1/jobs/{id}", job, methods=["GET"]),
    Route("/v1/jobs/{id}", cancel, methods=["DELETE"]),
    Route("/v1/jobs/{id}/events", events, methods=["GET"]),
    Route("/v1/jobs/{id}/result", result, methods=["GET"]),
    Route("/v1/metrics", metrics, methods=["GET"]),
    Route("/v1/openapi.json", openapi, methods=["GET"]),
    Route("/healthz", healthz, methods=["GET"]),
    Route("/metrics", prometheus, methods=["GET"]),
]
