"""What all requests of one server share."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from capeval.documents import Document
from capeval.types import Dataset, Sample
from capeval.web.counters import Counters
from capeval.web.jobs import Desk, Job
from capeval.web.opening import sample_order
from capeval.web.orders import Order
from capeval.web.scoring import Scorer
from capeval.web.settings import Settings


class Server:
    def __init__(self, settings: Settings, board: Document | None = None) -> None:
        self.settings = settings
        self.board = board
        """A leaderboard to be shown."""
        self.desk = Desk(settings)
        self.scorer = Scorer(settings.threads, self.desk.folder)
        self.explainers = ThreadPoolExecutor(max(2, settings.jobs), "capeval-explain")
        """Explanations of long captions take long: they are made by threads that nobody else waits for."""
        self.counters = Counters(self.desk)
        self._samples: dict[str, Job] = {}
        self._guard = threading.Lock()

    def sample(self, key: str) -> Job:
        """The captions that come with capeval, scored when somebody first looks at them; they make room for nobody."""
        with self._guard:
            job = self._samples.get(key)
            if job is None or job.state in ("failed", "cancelled"):
                job = self._samples[key] = self.desk.new_job(sample_order(key))
                job.id = key
                self.desk.hand_in(job, self.scorer.score)
            return job

    def find(self, key: str) -> Job:
        with self._guard:
            known = self._samples.get(key)
        return known or self.desk.find(key)

    def warm(self) -> None:
        """One caption through every metric that needs no picture, so that nobody has to wait for tables and models."""
        sample = Sample("1", "1", "a man rides a bike", ("a person is riding a bicycle",))
        job = self.desk.new_job(Order(Dataset.from_samples([sample]), None))
        self.desk.hand_in(job, self.scorer.score)

    def close(self) -> None:
        for job in self._samples.values():
            job.cancel()
        self.explainers.shutdown(wait=False, cancel_futures=True)
        self.desk.close()
