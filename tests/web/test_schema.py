"""The REST interface held against its own OpenAPI document, by requests that schemathesis makes up."""

from __future__ import annotations

from typing import Any

import pytest

schemathesis = pytest.importorskip("schemathesis", reason="requests are made up by schemathesis")
hypothesis = pytest.importorskip("hypothesis")


@pytest.fixture(scope="module")
def described(client: Any) -> Any:
    return schemathesis.openapi.from_url(f"{client.listening.url}/v1/openapi.json")


schema = schemathesis.pytest.from_fixture("described")


@schema.exclude(path_regex="/events$").parametrize()
@hypothesis.settings(
    max_examples=15, deadline=None, suppress_health_check=list(hypothesis.HealthCheck), derandomize=True
)
def test_every_answer_is_as_described(case: Any) -> None:
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi import checks

    case.call_and_validate(
        checks=[
            not_a_server_error,
            checks.status_code_conformance,
            checks.content_type_conformance,
            checks.response_schema_conformance,
        ],
    )
