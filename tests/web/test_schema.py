"""The REST interface held against its own OpenAPI document, by requests that schemathesis makes up."""

from __future__ import annotations

from typing import Any

import pytest

from . import served  # noqa: F401  skips where there is no server

schemathesis = pytest.importorskip("schemathesis", reason="requests are made up by schemathesis")
hypothesis = pytest.importorskip("hypothesis")


PATHS = ["/v1/score", "/v1/jobs/{id}", "/v1/jobs/{id}/result", "/v1/metrics", "/healthz", "/metrics"]


@pytest.mark.parametrize("path", PATHS)
def test_every_answer_is_as_described(client: Any, path: str) -> None:
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi import checks

    wanted = [
        not_a_server_error,
        checks.status_code_conformance,
        checks.content_type_conformance,
        checks.response_schema_conformance,
    ]
    schema = schemathesis.openapi.from_url(f"{client.listening.url}/v1/openapi.json")
    for found in schema.include(path=path).get_all_operations():
        operation = found.ok()
        count = 12 if path == "/v1/score" else 3

        @hypothesis.settings(
            max_examples=count, deadline=None, database=None, derandomize=True,
            suppress_health_check=list(hypothesis.HealthCheck),
        )  # fmt: skip
        @hypothesis.given(case=operation.as_strategy())
        def every(case: Any) -> None:
            if isinstance(case.body, dict) and case.media_type == "application/json":
                case.body["metrics"] = ["bleu"]  # all of them would take long
            case.call_and_validate(checks=wanted)

        every()
