"""The OpenAPI document of `/v1`, made of the types that requests are read with."""

from __future__ import annotations

from typing import Any

import msgspec

from capeval.documents.types import ScoreDocument
from capeval.version import __version__
from capeval.web.orders import ScoreRequest
from capeval.web.settings import Settings

_ERROR = {"type": "object", "properties": {"error": {"type": "string"}}, "required": ["error"]}
_JOB = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "state": {"enum": ["waiting", "running", "done", "failed", "cancelled"]},
        "step": {"type": "string", "description": "what is being done now"},
        "share": {"type": ["number", "null"], "description": "of the step that is done, where it can be told"},
        "rows": {"type": "integer"},
        "scored": {"type": "array", "items": {"type": "string"}, "description": "scores that are there already"},
        "notes": {"type": "array", "items": {"type": "string"}},
        "problem": {"type": "string"},
    },
    "required": ["id", "state", "step", "share", "rows", "scored", "notes", "problem"],
}
_METRIC = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "scores": {"type": "array", "items": {"type": "string"}},
        "needs": {"type": "array", "items": {"enum": ["references", "pictures"]}},
        "bounds": {"type": "array", "items": {"type": ["number", "null"]}},
        "parameters": {"type": "object"},
        "summary": {"type": "string"},
        "citation": {"type": "string"},
        "revision": {"type": "integer"},
    },
    "required": ["name", "scores", "needs", "parameters", "summary"],
}
_CAPTION = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "image": {"type": "string"},
        "system": {"type": "string"},
        "candidate": {"type": "string"},
        "scores": {"type": "object", "additionalProperties": {"type": ["number", "null"]}},
    },
    "required": ["id", "image", "candidate", "scores"],
}
_FILES = {"type": "array", "items": {"type": "string", "format": "binary"}}
_FORM = {
    "type": "object",
    "properties": {
        "candidates": {**_FILES, "minItems": 1, "description": "a file for each system: JSON, JSONL, CSV, TSV, lines"},
        "references": _FILES,
        "images": {**_FILES, "description": "pictures called by the ids of their images, or archives (.zip) of them"},
        "metrics": {"type": "string", "description": "expressions with commas between them"},
        "tokenizer": {"enum": ["ptb", "none"]},
        "per_caption": {"enum": ["true", "false"]},
        "intervals": {"enum": ["true", "false"]},
    },
    "required": ["candidates"],
    "additionalProperties": False,
}
_TOLD = {
    400: "the request cannot be read",
    401: "a token is needed",
    403: "asked for by a page of another server",
    404: "there is no such job, or it has gone",
    408: "the request came in too slowly",
    409: "the job is not done",
    413: "more than the server takes",
    415: "of a form that is not read",
    421: "asked for under another name than the server's",
    422: "the captions, references or metrics are not right",
    429: "too many requests are waiting",
}


def document(settings: Settings) -> dict[str, Any]:
    (request, scores), parts = msgspec.json.schema_components(
        [ScoreRequest, ScoreDocument], ref_template="#/components/schemas/{name}"
    )
    answer = {
        "allOf": [scores, {"type": "object", "properties": {
            "captions": {"type": "array", "items": {"$ref": "#/components/schemas/Caption"}},
            "notes": {"type": "array", "items": {"type": "string"}},
        }}]
    }  # fmt: skip
    schemas = {**parts, "Answer": answer, "Caption": _CAPTION, "Error": _ERROR, "Job": _JOB, "Metric": _METRIC}
    job_id = {"name": "id", "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
    wait = {
        "name": "wait",
        "in": "query",
        "description": "Seconds to wait for the result; with 0 the answer is always a job.",
        "schema": {"type": "number", "minimum": 0, "maximum": 300, "default": 30},
    }
    form = {
        "name": "format",
        "in": "query",
        "schema": {"enum": ["json", "jsonl", "csv", "tsv", "parquet"], "default": "json"},
    }
    done = {
        "description": "the scores",
        "content": {
            "application/json": {"schema": _named("Answer")},
            "application/x-ndjson": {},
            "text/csv": {},
            "text/tab-separated-values": {},
            "application/vnd.apache.parquet": {},
        },
    }
    body = {
        "required": True,
        "content": {"application/json": {"schema": request}, "multipart/form-data": {"schema": _FORM}},
    }
    paths = {
        "/v1/score": {"post": _operation(
            "score", "Score captions", {200: _json("the scores", "Answer"), 202: _json("a job", "Job")},
            [400, 408, 413, 415, 422, 429], [wait], body,
        )},
        "/v1/jobs/{id}": {
            "get": _operation("job", "What is known of a job", {200: _json("the job", "Job")}, [404], [job_id]),
            "delete": _operation("cancel", "End a job and forget it", {200: _json("the job", "Job")}, [404], [job_id]),
        },
        "/v1/jobs/{id}/events": {"get": _operation(
            "events", "Server-sent events: `progress` whenever the job changes, `end` when it is over",
            {200: {"description": "events, each with the job", "content": {"text/event-stream": {}}}}, [404], [job_id],
        )},
        "/v1/jobs/{id}/result": {"get": _operation(
            "result", "The scores of a job that is done", {200: done}, [400, 404, 409, 422], [job_id, form]
        )},
        "/v1/metrics": {"get": _operation("metrics", "The metrics and their parameters", {200: {
            "description": "the metrics",
            "content": {"application/json": {"schema": {"type": "array", "items": _named("Metric")}}},
        }}, [])},
        "/healthz": {"get": _operation("healthz", "Whether the server is there", {200: {
            "description": "it is", "content": {"application/json": {"schema": {"type": "object"}}},
        }}, [])},
        "/metrics": {"get": _operation("prometheus", "What the server has counted, for Prometheus", {200: {
            "description": "counters", "content": {"text/plain": {}},
        }}, [])},
    }  # fmt: skip
    found: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": "capeval", "version": __version__, "description": "How good are these image captions?"},
        "paths": paths,
        "components": {"schemas": schemas},
    }
    if settings.token:
        found["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        found["security"] = [{"token": []}]
    return found


def _named(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def _json(description: str, name: str) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": _named(name)}}}


def _operation(
    name: str,
    summary: str,
    answers: dict[int, dict[str, Any]],
    refusals: list[int],
    parameters: list[dict[str, Any]] | None = None,
    body: dict[str, Any] | None = None,
) -> dict[str, Any]:
    told = {status: _json(_TOLD[status], "Error") for status in sorted({*refusals, 401, 403, 421})}
    found: dict[str, Any] = {"operationId": name, "summary": summary}
    if parameters:
        found["parameters"] = parameters
    if body:
        found["requestBody"] = body
    return {**found, "responses": {str(status): each for status, each in {**answers, **told}.items()}}
