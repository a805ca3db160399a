"""What all requests of one server share."""

from __future__ import annotations

from capeval.types import Dataset, Sample
from capeval.web.counters import Counters
from capeval.web.jobs import Desk, Job
from capeval.web.orders import Order
from capeval.web.scoring import Scorer
from capeval.web.settings import Settings


class Server:
    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.desk = Desk(settings)
        self.scorer = Scorer(settings.threads, self.desk.folder)
        self.counters = Counters(self.desk)

    def find(self, key: str) -> Job:
        return self.desk.find(key)

    def warm(self) -> None:
        """One caption through every metric that needs no picture, so that nobody has to wait for tables and models."""
        sample = Sample("1", "1", "a man rides a bike", ("a person is riding a bicycle",))
        job = self.desk.new_job(Order(Dataset.from_samples([sample]), None))
        self.desk.hand_in(job, self.scorer.score)

    def close(self) -> None:
        self.desk.close()
