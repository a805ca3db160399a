"""Many processes fill one feature cache and are killed at random; then all that it has must be right.

Half of the kills hit any process, the other half one that has just begun to write.

    python tests/io/stress_featurecache.py FOLDER [--processes 20] [--kills 200] [--limit BYTES]

Features are made of the picture's hash alone, so anyone can tell whether they are right. Processes say what they have
added; without a limit, all of that must be there at the end. Needs a system with fork.
"""

from __future__ import annotations

import argparse
import hashlib
import mmap
import os
import random
import signal
import sqlite3
import sys
import time
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import numpy as np

from capeval.io import featurecache
from capeval.io.featurecache import FeatureCache
from capeval.io.featurestore import HASH_BYTES, KINDS, Encoded
from capeval.run import Progress, Run

ENCODER = "hash/0123"
PICTURES = 3000


WRITER = mmap.mmap(-1, 8)
"""The number of the process that writes, seen by all."""
insert = featurecache.insert


def inserted(connection: sqlite3.Connection, encoder: str, pictures: Iterable[Encoded]) -> None:
    WRITER[:] = os.getpid().to_bytes(8, "little")
    insert(connection, encoder, pictures)


featurecache.insert = inserted


class Complaint(Progress):
    def note(self, message: str) -> None:
        raise AssertionError(message)  # a store that is set aside would be a lost one


def picture(number: int) -> Encoded:
    digest = hashlib.blake2b(str(number).encode(), digest_size=HASH_BYTES).digest()
    random_ = np.random.default_rng(list(digest))
    # As many regions as the number says, from 1 to 16.
    return Encoded(digest, random_.random(64), random_.random((number % 16 + 1, 256)), random_.random((1, 4)))


def check(cache: FeatureCache, pictures: list[Encoded]) -> set[bytes]:
    """The pictures of which the cache has all; whatever it has must be right."""
    found = {kind: cache.read(kind, [each.hash for each in pictures]) for kind in KINDS}
    for each in pictures:
        for kind, values in each.parts():
            stored = found[kind].get(each.hash)
            assert stored is None or np.array_equal(stored, values), f"a wrong {kind}"
    return set.intersection(*(set(each) for each in found.values()))


def fill(folder: Path, limit: int, told: int) -> None:
    """Until it is killed."""
    cache = FeatureCache(ENCODER, Run(cache=folder, feature_cache_bytes=limit, progress=Complaint()))
    while True:
        numbers = random.sample(range(PICTURES), random.randint(1, 40))
        pictures = [picture(number) for number in numbers]
        there = check(cache, pictures)
        new = {n: each for n, each in zip(numbers, pictures) if each.hash not in there}
        if new:
            cache.add(list(new.values()), keep=[each.hash for each in pictures])
            os.write(told, "".join(f"{number}\n" for number in new).encode())  # in one piece: it is short


def start(folder: Path, limit: int, told: int) -> int:
    child = os.fork()
    if child:
        return child
    try:
        random.seed(os.urandom(8))
        fill(folder, limit, told)
    except BaseException as problem:
        print(f"{type(problem).__name__}: {problem}", file=sys.stderr, flush=True)
    os._exit(1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--processes", type=int, default=20)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--limit", type=int, default=1 << 40, help="of the cache, in bytes")
    options = parser.parse_args()
    begin, told_path = time.monotonic(), options.folder / "told"
    options.folder.mkdir(parents=True, exist_ok=True)
    told = os.open(told_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    children = [start(options.folder, options.limit, told) for _ in range(options.processes)]
    try:
        for number in range(options.kills):
            chosen = next_writer(children) if number % 2 else random.choice(children)
            time.sleep(random.uniform(0, 0.01))
            children.remove(chosen)
            kill(chosen)
            children.append(start(options.folder, options.limit, told))
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    os.close(told)
    added = set(map(int, told_path.read_text().split()))
    there = verify(options.folder, options.limit, added)
    seconds = time.monotonic() - begin
    print(f"{options.kills} kills in {seconds:.0f} s; {there} pictures in the cache, {len(added)} told to be")


def next_writer(children: list[int]) -> int:
    before, deadline = WRITER[:], time.monotonic() + 60
    while WRITER[:] == before or int.from_bytes(WRITER[:], "little") not in children:
        assert time.monotonic() < deadline, "nobody writes any more"
        time.sleep(0.0002)
    return int.from_bytes(WRITER[:], "little")


def kill(child: int) -> None:
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), "a process had ended by itself"


def verify(folder: Path, limit: int, added: set[int]) -> int:
    cache = FeatureCache(ENCODER, Run(cache=folder, feature_cache_bytes=limit, progress=Complaint()))
    there = check(cache, [picture(number) for number in range(PICTURES)])
    names = {path.name for path in cache.path.parent.iterdir() if not path.name.startswith(".")}
    # A process that was killed may leave a journal in which there is nothing to undo; the next writer takes it.
    assert names <= {cache.path.name, f"{cache.path.name}-journal"}, f"more than one store: {names}"
    with closing(sqlite3.connect(cache.path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        orphans = "SELECT COUNT(*) FROM numbers WHERE number NOT IN (SELECT number FROM features)"
        assert connection.execute(orphans).fetchone() == (0,)
    if limit < 1 << 40:
        assert cache.path.stat().st_size < 2 * limit
    else:
        assert {picture(number).hash for number in added} <= there, "what was told to be on disk is not there"
    return len(there)


if __name__ == "__main__":
    main()
