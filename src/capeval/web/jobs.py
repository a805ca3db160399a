"""Jobs: work that goes on while people look, with progress, an end that can be asked for, and limits."""

from __future__ import annotations

import contextlib
import logging
import secrets
import shutil
import tempfile
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from capeval.documents import Document
from capeval.errors import CapevalError
from capeval.report.inputs import CaptionScores
from capeval.results import Result
from capeval.run import Progress
from capeval.web.orders import Order, told
from capeval.web.refusals import Refused
from capeval.web.settings import Settings

State = Literal["waiting", "running", "done", "failed", "cancelled"]
_PREFIX = "capeval-serve-"


class Stopped(Exception):
    """The job was cancelled, or has taken too long."""


class Job:
    """One piece of work, and what has come of it so far."""

    def __init__(self, order: Order | None, folder: Path | None, seconds: float) -> None:
        self.id = secrets.token_urlsafe(12)
        self.order = order
        """What is scored; none of a result that was opened."""
        self.folder = folder
        self.name = order.name if order else ""
        self.state: State = "waiting"
        self.step = ""
        self.share: float | None = None
        """Of the step that is done, where it can be told."""
        self.notes: list[str] = list(order.notes) if order else []
        self.problem = ""
        self.status = 200
        """Of the answer to who waits for it."""
        self.rows = len(order.dataset) if order else 0
        self.result: Result | None = None
        """So far; whole where the state is `done`."""
        self.captions: CaptionScores | None = None
        """Of a file of scores that was opened."""
        self.document: Document | None = None
        """Of another result that was opened."""
        self.view: Any = None
        self.view_of: Result | None = None
        """What the explorer remembers of it, and of which state that is."""
        self.changes = 0
        """Raised with every change, so that who watches knows."""
        self._seconds = seconds
        self._until = float("inf")
        self._is_cancelled = threading.Event()

    def begin(self) -> None:
        self._until = time.monotonic() + self._seconds
        self.check()
        self.become("running")

    def become(self, state: State, problem: str = "", status: int = 200) -> None:
        self.problem, self.status, self.state = problem, status, state
        self.changes += 1

    def cancel(self) -> None:
        self._is_cancelled.set()
        if self.state in ("waiting", "running"):
            self.become("cancelled")

    def check(self) -> None:
        """Raises Stopped where the job is to end."""
        if self._is_cancelled.is_set():
            raise Stopped
        if time.monotonic() > self._until:
            raise Refused(f"it took longer than the {self._seconds:,.0f} seconds that a job may take", 422)

    @property
    def is_over(self) -> bool:
        return self.state not in ("waiting", "running")


class JobProgress(Progress):
    """Shows a job what the library says of its work, and ends the work where the job is to end."""

    def __init__(self, job: Job) -> None:
        self._job = job

    def step(self, what: str) -> None:
        self._show(what, None)

    def note(self, message: str) -> None:
        self._job.notes.append(message)
        self._job.changes += 1

    @contextmanager
    def bar(self, what: str, total: int | None = None, unit: str = "") -> Iterator[Callable[[int], None]]:
        self._show(what, 0.0 if total else None)
        yield lambda done: self._show(what, done / total if total else None)

    def _show(self, what: str, share: float | None) -> None:
        self._job.check()
        self._job.step, self._job.share = what, share
        self._job.changes += 1


class Desk:
    """Where jobs are handed in, worked on and kept. Small ones do not wait behind large ones."""

    def __init__(self, settings: Settings) -> None:
        self.limits = settings.limits
        sweep()
        self._lock_folder()
        self._quick = ThreadPoolExecutor(max(2, settings.jobs), "capeval-quick")
        self._long = ThreadPoolExecutor(settings.jobs, "capeval-job")
        self._kept: OrderedDict[str, Job] = OrderedDict()
        self._guard = threading.Lock()
        self.waiting = 0

    def _lock_folder(self) -> None:
        from filelock import FileLock

        self.folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
        # While the lock is held the folder has an owner; the system frees it, however the process ends.
        self._lock = FileLock(self.folder / "lock")
        self._lock.acquire()

    def new_folder(self) -> Path:
        """For the files of one request."""
        return Path(tempfile.mkdtemp(dir=self.folder))

    def new_job(self, order: Order | None, folder: Path | None = None) -> Job:
        return Job(order, folder, self.limits.seconds)

    def hand_in(self, job: Job, work: Callable[[Job], None]) -> Future[None]:
        """The job is worked on when its turn comes. What goes wrong shows in its state."""
        with self._guard:
            if self.waiting >= self.limits.waiting:
                raise Refused("too many requests are waiting; try again in a while", 429)
            self.waiting += 1
        pool = self._quick if self._is_quick(job.order) else self._long
        return pool.submit(self._work, job, work)

    def _is_quick(self, order: Order | None) -> bool:
        if order is None or order.images or len(order.dataset) > self.limits.quick_rows:
            return False
        references = [text for each in order.dataset.reference_sets for text in each]
        longest = max(map(len, [*order.dataset.candidates, *references]), default=0)
        return len(references) <= 10 * self.limits.quick_rows and longest <= self.limits.quick_characters

    def _work(self, job: Job, work: Callable[[Job], None]) -> None:
        try:
            job.begin()
            work(job)
            job.check()
            job.become("done")
        except Stopped:
            job.result = None
            job.become("cancelled")
        except CapevalError as problem:
            job.become("failed", told(problem, job.folder), problem.status if isinstance(problem, Refused) else 422)
        except MemoryError:
            job.become("failed", "there is not enough memory for it", 413)
        except Exception as problem:
            job.become("failed", "something went wrong here; the server's log says what", 500)
            logging.getLogger("capeval.web").error("a job failed", exc_info=problem)
        finally:
            with self._guard:
                self.waiting -= 1

    def keep(self, job: Job) -> None:
        """For who asks for it later; the oldest ones that are over make room."""
        with self._guard:
            self._kept[job.id] = job
            gone = []
            while len(self._kept) > self.limits.kept or self._rows() > self.limits.kept_rows:
                oldest = next((key for key, each in self._kept.items() if each.is_over and each is not job), None)
                if oldest is None:
                    break
                gone.append(self._kept.pop(oldest))
        for each in gone:
            self.drop(each)

    def _rows(self) -> int:
        return sum(each.rows for each in self._kept.values())

    def find(self, key: str) -> Job:
        with self._guard:
            job = self._kept.get(key)
            if job is None:
                raise Refused("there is no such result here: it may have made room for others, or never been", 404)
            self._kept.move_to_end(key)
            return job

    def drop(self, job: Job) -> None:
        """Forgets it, with its files."""
        with self._guard:
            self._kept.pop(job.id, None)
        job.result = job.order = job.captions = job.document = job.view = job.view_of = None
        if job.folder is not None:
            shutil.rmtree(job.folder, ignore_errors=True)

    def counts(self) -> dict[str, int]:
        with self._guard:
            states = [job.state for job in self._kept.values()]
        return {state: states.count(state) for state in ("waiting", "running", "done", "failed", "cancelled")}

    def close(self) -> None:
        with self._guard:
            jobs = list(self._kept.values())
        for job in jobs:
            job.cancel()
        for pool in (self._quick, self._long):
            pool.shutdown(wait=True, cancel_futures=True)
        self._lock.release()
        shutil.rmtree(self.folder, ignore_errors=True)


def sweep() -> None:
    """Takes away what servers have left behind that were killed."""
    from filelock import FileLock, Timeout

    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        if not (folder / "lock").is_file() or folder.is_symlink():
            continue
        with contextlib.suppress(Timeout, OSError, NotImplementedError):
            with FileLock(folder / "lock", timeout=0):
                pass
            shutil.rmtree(folder, ignore_errors=True)
