"""Locks between processes, on every system: `filelock` with the answers of this house."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from capeval.errors import DataError

_NO_LOCKS = {errno.ENOSYS, errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL}


def lock_file(path: Path) -> Path:
    """What is locked instead of `path`, which may be replaced meanwhile."""
    return path.with_name(f".{path.name}.lock")


@contextmanager
def locked(path: Path, *, wait: bool = True, advice: str = "") -> Iterator[bool]:
    """Alone with `path` among the processes that ask for this lock; who may not wait gets a DataError.

    The system frees the lock when its holder dies. Some network file systems have no locks: there the work goes on
    without one, and this gives False.
    """
    from filelock import FileLock, Timeout  # 20 ms that most commands do not need

    lock = FileLock(lock_file(path), timeout=-1 if wait else 0, poll_interval=0.01)
    is_locked = True
    try:
        lock.acquire()
    except Timeout:
        raise DataError("another process is writing to it; wait for that one", file=str(path)) from None
    except NotImplementedError:  # what older versions of filelock say
        is_locked = False
    except OSError as problem:
        if problem.errno not in _NO_LOCKS:
            raise DataError(f"cannot be written: {problem.strerror}{advice}", file=str(path)) from problem
        is_locked = False
    try:
        yield is_locked
    finally:
        lock.release()
