"""The explorer's pages. What they show comes from results, explanations and reports; here it finds its place."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

import jinja2
import numpy as np
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from capeval import markup, verdict
from capeval.api import compare_systems
from capeval.bench.registry import benchmarks as all_benchmarks
from capeval.documents import Document
from capeval.errors import CapevalError
from capeval.report import html
from capeval.report import report as make_report
from capeval.report.blocks import Cell, Section, Table
from capeval.report.compared import comparison_section
from capeval.report.inputs import CaptionScores
from capeval.showing import number
from capeval.text.marking import mark
from capeval.web import opening
from capeval.web.jobs import Desk, Job
from capeval.web.orders import picture_kind, told
from capeval.web.refusals import Refused
from capeval.web.rest import FORMATS, accepted, server_of, table_file
from capeval.web.telling import Teller
from capeval.web.view import APART, PAGE, Query, View, query_of, whole

T = TypeVar("T")
_STATIC = {
    "table.js": "text/javascript",
    "job.js": "text/javascript",
    "caption.js": "text/javascript",
    "explorer.css": "text/css",
}
_SIDE_BY_SIDE = 30


@cache
def _templates() -> jinja2.Environment:
    loader = jinja2.PackageLoader("capeval.web")
    made = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    made.filters["number"] = number
    made.filters["signed"] = lambda value: "-" if math.isnan(value) else f"{value:+.4f}".replace("-", "−")
    return made


def page(template: str, status: int = 200, /, **content: Any) -> Response:
    return HTMLResponse(_templates().get_template(template).render(**content), status)


async def _aside(work: Callable[..., T], *arguments: Any, threads: Executor | None = None) -> T:
    """Away from the thread that answers everybody; what is wrong with the data is the client's to know."""
    try:
        return await asyncio.get_running_loop().run_in_executor(threads, work, *arguments)
    except Refused:
        raise
    except CapevalError as problem:
        raise Refused(told(problem)) from None


# Starting -------------------------------------------------------------------------------------------------------------


async def start(request: Request) -> Response:
    from capeval.registry import metric_classes

    return page(
        "start.html", metrics=metric_classes(), address=str(request.base_url), problem="",
        cancelled=request.query_params.get("cancelled") == "yes",
    )  # fmt: skip


async def open_captions(request: Request) -> Response:
    """Scores what a form brings, and shows it while that goes on."""
    server = server_of(request)
    job = await accepted(request)
    server.desk.keep(job)
    server.desk.hand_in(job, server.scorer.score)
    return RedirectResponse(f"/r/{job.id}", 303)


async def open_result(request: Request) -> Response:
    """A file that capeval has written."""
    server = server_of(request)
    async with request.form(max_files=1, max_fields=1) as form:
        given = form.get("result")
        if given is None or isinstance(given, str):
            raise Refused("there is no file `result`")
        job = await _aside(opening.opened, given.file, given.filename or "", server.desk)
    server.desk.keep(job)
    return RedirectResponse(f"/r/{job.id}", 303)


# A result -------------------------------------------------------------------------------------------------------------


def _job(request: Request) -> Job:
    server, key = server_of(request), request.path_params["key"]
    return server.sample(key) if key in opening.SAMPLES else server.desk.find(key)


def _key(request: Request) -> str:
    return str(request.path_params["key"])


def _view(job: Job) -> View:
    """Of what is there so far; the same one while nothing is added."""
    if not isinstance(job.view, View) or job.view_of is not job.result:
        job.view_of = job.result
        job.view = View(opening.captions_of(job))
    found: View = job.view
    return found


async def table(request: Request) -> Response:
    job, key = _job(request), _key(request)
    if job.document is not None:
        return await _document(job.document, job.name)
    view = await _aside(_view, job)
    query = query_of(request.query_params, view.rows)
    order = await _aside(view.order, query)
    columns = list(view.rows.scores)
    systems = [each for each in dict.fromkeys(view.rows.systems) if each]
    return page(
        "table.html",
        key=key, name=job.name or key, query=query, total=len(order), of=len(view.rows), page=PAGE, columns=columns,
        systems=systems, rows=view.window(query), heads=_heads(query, columns, systems), notes=job.notes,
        step=job.step or job.state, is_open=not job.is_over, problem=job.problem, corpus=_corpus(job),
        is_done=job.state == "done" and job.result is not None and bool(columns),
        can_compare=job.result is not None and job.result.has_systems,
    )  # fmt: skip


def _heads(query: Query, columns: list[str], systems: list[str]) -> list[tuple[str, str]]:
    apart = [(APART, f"{query.a} above {query.b}")] if query.a and query.b else []
    system = [("system", "system")] if systems else []
    return [("candidate", "caption"), *system, ("id", "id"), *apart, *((name, name) for name in columns)]


def _corpus(job: Job) -> Mapping[str, Mapping[str, float]]:
    if job.result is None or not job.result.scored:
        return {}
    return {name: each.scores for name, each in job.result.parts().items()}


async def rows(request: Request) -> Response:
    """The lines of the table from an offset on, for who scrolls there."""
    job = _job(request)
    view = await _aside(_view, job)
    query = query_of(request.query_params, view.rows)
    count = whole(request.query_params.get("count"), PAGE)
    systems = any(view.rows.systems)
    return page("rows.html", key=_key(request), rows=view.window(query, count), systems=systems)


async def scores_file(request: Request) -> Response:
    job, form = _job(request), request.path_params["form"]
    if form not in FORMATS or job.result is None:
        raise Refused("there are no such scores", 404)
    return await table_file(job.result, form, server_of(request).desk)


async def report_page(request: Request) -> Response:
    job = _job(request)
    if job.result is None or not job.is_over:
        raise Refused("the result is not there yet", 409)
    return await _inside("inside.html", lambda: _report(job), back=f"/r/{_key(request)}", name=job.name)


def _report(job: Job) -> tuple[str, str, list[Section]]:
    assert job.result is not None
    made = make_report([job.result.document(job.result.ranges()), opening.captions_of(job)])
    return f"Report: {job.name}", "", list(made.sections)


async def _document(document: Document, name: str) -> Response:
    def sections() -> tuple[str, str, list[Section]]:
        made = make_report(document)
        return made.title, "", list(made.sections)

    return await _inside("inside.html", sections, back="/", name="Start")


async def _inside(template: str, sections: Callable[[], tuple[str, str, list[Section]]], **content: Any) -> Response:
    def drawn() -> tuple[str, str, str]:
        title, about, found = sections()
        return title, about, html.inside(found)

    title, about, inside = await _aside(drawn)
    return page(template, title=title, told=about, inside=Markup(inside), **content)


async def compare(request: Request) -> Response:
    """Two systems side by side, and whether they differ by more than chance."""
    job, params = _job(request), request.query_params
    if job.result is None or not job.result.has_systems:
        raise Refused("there are not two systems to compare", 404)
    result = job.result
    systems = list(dict.fromkeys(result.systems))
    a = params.get("a") if params.get("a") in systems else systems[0]
    b = params.get("b") if params.get("b") in systems and params.get("b") != a else next(s for s in systems if s != a)
    columns = list(result.per_caption)
    score = params.get("score") if params.get("score") in columns else columns[0]
    assert a is not None
    assert b is not None
    assert score is not None

    def compared() -> tuple[str, str, list[dict[str, Any]]]:
        found = compare_systems(result, a, b)
        document = found.document(a, b)
        values = result.per_caption[score]
        pairs: list[dict[str, Any]] = [
            {"first": i, "second": j, "ours": result.candidates[i], "theirs": result.candidates[j],
             "a": float(values[i]), "b": float(values[j])}
            for i, j in zip(*found.rows)
        ]  # fmt: skip
        pairs.sort(key=lambda each: -abs(np.nan_to_num(each["a"] - each["b"])))
        return verdict.compared(document), html.inside([comparison_section(document, "")]), pairs[:_SIDE_BY_SIDE]

    told_, inside, pairs = await _aside(compared)
    return page(
        "compare.html", key=_key(request), name=job.name, a=a, b=b, systems=systems, columns=columns, score=score,
        verdict=told_, inside=Markup(inside), pairs=pairs,
    )  # fmt: skip


# A caption ------------------------------------------------------------------------------------------------------------


def _row(request: Request, view: View) -> int:
    row = whole(request.path_params["row"])
    if row >= len(view.rows):
        raise Refused("there is no such caption", 404)
    return row


def _typed(request: Request, desk: Desk) -> str:
    text = str(request.query_params.get("caption", ""))
    if len(text) > desk.limits.caption_characters:
        raise Refused(f"a caption has at most {desk.limits.caption_characters:,} characters", 413)
    return text


def _teller(request: Request, job: Job, row: int) -> Teller:
    return Teller(job, row, server_of(request).scorer)


async def caption(request: Request) -> Response:
    job, server = _job(request), server_of(request)
    view = await _aside(_view, job)
    row, typed = _row(request, view), _typed(request, server.desk)
    teller = _teller(request, job, row)
    (words,) = await _aside(mark, [teller.caption], [teller.references])
    return page(
        "caption.html", key=_key(request), name=job.name, row=row, caption=teller.caption,
        typed=typed or teller.caption, marked=Markup(markup.words(words)),
        legend=Markup(markup.LEGEND if teller.references else ""),
        image=view.rows.images[row], system=view.rows.systems[row], references=teller.references,
        has_picture=teller.picture_file is not None, can_tell=bool(teller.metrics),
        longest=server.desk.limits.caption_characters, metrics=teller.labels, **_scores(view.rows, row, {}, {}, teller),
    )  # fmt: skip


def _scores(
    rows_: CaptionScores, row: int, alone: Mapping[str, float], typed: Mapping[str, float], teller: Teller
) -> dict[str, Any]:
    """By label; what was scored among others may be another number alone, and so has another label."""
    among = {label: float(values[row]) for label, values in rows_.scores.items()}
    labels = list(dict.fromkeys([*among, *alone]))
    nan = math.nan
    lines = [
        {"label": label, "place": teller.place(label),
         "among": among.get(label, nan), "alone": alone.get(label, nan) if alone else among[label],
         "typed": typed.get(label, nan), "change": typed.get(label, nan) - alone.get(label, nan)}
        for label in labels
    ]  # fmt: skip
    return {"scores": lines, "changed": bool(typed), "among": bool(alone)}


async def caption_scores(request: Request) -> Response:
    """The scores of a caption alone, and of the one that was typed in its place."""
    job, server = _job(request), server_of(request)
    view = await _aside(_view, job)
    row, typed = _row(request, view), _typed(request, server.desk)
    teller = _teller(request, job, row)
    if not typed or typed == teller.caption:
        return page("scores.html", **_scores(view.rows, row, {}, {}, teller))
    alone, other = await _aside(
        lambda: (teller.scores(teller.caption), teller.scores(typed)), threads=server.explainers
    )
    return page("scores.html", **_scores(view.rows, row, alone, other, teller))


async def explain(request: Request) -> Response:
    """Why one metric gives its score: marked words, a table, and a drawing where there is one."""
    job, server = _job(request), server_of(request)
    view = await _aside(_view, job)
    row, typed = _row(request, view), _typed(request, server.desk)
    teller = _teller(request, job, row)
    place = whole(request.path_params["place"])
    if place >= len(teller.metrics):
        raise Refused("there is no such metric", 404)
    inside = await _aside(teller.explanation, place, typed or teller.caption, threads=server.explainers)
    return HTMLResponse(inside)


async def picture(request: Request) -> Response:
    job, server = _job(request), server_of(request)
    view = await _aside(_view, job)
    path = _teller(request, job, _row(request, view)).picture_file
    if path is None:
        raise Refused("there is no such picture", 404)
    data = await asyncio.to_thread(Path(path).read_bytes)
    kind = await asyncio.to_thread(picture_kind, data, "the picture", server.desk.limits)
    return Response(data, media_type=kind, headers={"content-security-policy": "default-src 'none'; sandbox"})


# Benchmarks -----------------------------------------------------------------------------------------------------------


async def benchmarks(request: Request) -> Response:
    """Which there are, what papers report on them, and the leaderboard where one was given to the server."""
    return await _inside("inside.html", lambda: _benchmarks(server_of(request).board), back="", name="")


def _benchmarks(board: Document | None) -> tuple[str, str, list[Section]]:
    found = [] if board is None else list(make_report(board).sections)
    header = ["benchmark", "what it is", "for", "holds", "citation"]
    lines = [
        [Cell(each.name, code=True), Cell(each.summary), Cell(each.purpose), Cell(", ".join(each.holds)),
         Cell(each.citation)]
        for each in all_benchmarks().values()
    ]  # fmt: skip
    listed = Section("Benchmarks", [Table("Human judgements that metrics are held against", header, lines)])
    about = (
        "capeval bench all --json board.json measures every metric on every benchmark whose data are here; "
        "capeval serve --board board.json shows that leaderboard on this page."
    )
    return "Do metrics agree with people?", about, [*found, listed, opening.quoted_section()]


# Files ----------------------------------------------------------------------------------------------------------------


@cache
def _file(name: str) -> tuple[bytes, str]:
    if name == "report.css":
        return html.style().encode(), "text/css"
    if name == "report.js":
        return html.script().encode(), "text/javascript"
    return files("capeval.web").joinpath("static", name).read_bytes(), _STATIC[name]


async def static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in (*_STATIC, "report.css", "report.js"):
        raise Refused("there is nothing at this address", 404)
    content, kind = await asyncio.to_thread(_file, name)
    return Response(content, media_type=kind, headers={"cache-control": "no-cache"})


def error_page(status: int, message: str) -> Response:
    heading = {404: "Not here", 409: "Not yet", 413: "Too much", 429: "Too busy"}.get(status, "That did not work")
    return page("error.html", status, heading=heading, message=message)


ROUTES = [
    Route("/", start),
    Route("/open", open_captions, methods=["POST"]),
    Route("/open-result", open_result, methods=["POST"]),
    Route("/benchmarks", benchmarks),
    Route("/static/{name}", static),
    Route("/r/{key}", table),
    Route("/r/{key}/rows", rows),
    Route("/r/{key}/report", report_page),
    Route("/r/{key}/compare", compare),
    Route("/r/{key}/scores.{form}", scores_file),
    Route("/r/{key}/pictures/{row}", picture),
    Route("/r/{key}/captions/{row}", caption),
    Route("/r/{key}/captions/{row}/scores", caption_scores),
    Route("/r/{key}/captions/{row}/explain/{place}", explain),
]
