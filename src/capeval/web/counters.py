"""What the server counts, for Prometheus."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from starlette.types import Scope

from capeval.web.jobs import Desk


class Counters:
    def __init__(self, desk: Desk) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        self._requests = Counter(
            "capeval_requests", "Requests by what was asked for and the status.", ["what", "status"],
            registry=self._registry,
        )  # fmt: skip
        self._seconds = Histogram(
            "capeval_request_seconds", "Seconds until a request was answered.", ["what"], registry=self._registry,
            buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60, 600),
        )  # fmt: skip
        self.captions = Counter("capeval_captions", "Captions that were scored.", registry=self._registry)
        waiting = Gauge("capeval_waiting", "Requests and jobs that wait or are worked on.", registry=self._registry)
        waiting.set_function(lambda: desk.waiting)
        self._jobs = Gauge("capeval_jobs", "Jobs that are kept, by state.", ["state"], registry=self._registry)
        self._desk = desk

    def count(self, scope: Scope, status: int, seconds: float) -> None:
        """By the function that answered: addresses are endless, and anybody's."""
        endpoint = scope.get("endpoint")
        what = getattr(endpoint, "__name__", "") or "other"
        self._requests.labels(what, str(status)).inc()
        self._seconds.labels(what).observe(seconds)

    def text(self) -> bytes:
        for state, number in self._desk.counts().items():
            self._jobs.labels(state).set(number)
        return bytes(generate_latest(self._registry))
