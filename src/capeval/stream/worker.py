"""A worker of the local runner: `python -m capeval.stream.worker` reads a job, then shards, a line each."""

from __future__ import annotations

import json
import os
import sys
import threading
from queue import SimpleQueue
from typing import Any

from capeval.stream.work import Job, Work


def main() -> None:
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever a metric prints must not get among the answers
    messages: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_listen, args=(messages,), daemon=True).start()
    work = Work(Job.from_json(messages.get().decode()))

    def answer(message: dict[str, Any]) -> None:
        answers.write(json.dumps(message).encode() + b"\n")
        answers.flush()

    while line := messages.get():
        record = work.do(report=lambda rows: answer({"rows": rows}), **json.loads(line))
        answer({"record": record})


def _listen(messages: SimpleQueue[bytes]) -> None:
    """Nobody is left to work for when the input ends."""
    for line in sys.stdin.buffer:
        messages.put(line)
    os._exit(0)


if __name__ == "__main__":
    main()
