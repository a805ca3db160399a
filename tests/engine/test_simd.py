"""Loops compiled twice: `CAPEVAL_SIMD=off` takes those for every machine, and they give the same bits."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from capeval import engine
from capeval.errors import CapevalError

# All that has two forms: the fast parser's network, and squeezing pictures.
PROGRAM = """
import hashlib
import numpy as np
from capeval import engine
from capeval.scene.fast import fast_parser

random = np.random.default_rng(0)
words = "a the two dog man woman red old zyzzyva sits runs on in front of and with near table".split()
captions = [" ".join(random.choice(words, length)) for length in range(40) for _ in range(3)]
found = hashlib.sha256(repr([(parse.tokens, parse.basic) for parse in fast_parser().parses(captions)]).encode())
for height, width, side in ((1, 1, 5), (7, 10, 64), (63, 65, 24), (500, 333, 64), (2, 900, 9)):
    pixels = random.integers(0, 256, (height, width, 3)).astype(np.uint8)
    found.update(engine.load().squeeze(pixels, side).tobytes())
print(engine.load().simd(), found.hexdigest())
"""


def run(simd: str) -> list[str]:
    """Which path was taken, and what came out. In a process of its own, since the choice is made once."""
    variables = os.environ | {"CAPEVAL_ENGINE": "compiled", "CAPEVAL_SIMD": simd}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=variables, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.split()


def has_avx2() -> bool:
    flags = Path("/proc/cpuinfo")
    return platform.machine() == "x86_64" and flags.is_file() and " avx2 " in flags.read_text("utf-8")


@pytest.mark.skipif(not has_avx2(), reason="this machine has only one path")
def test_both_paths_give_the_same_bits(compiled_engine: str) -> None:
    (usual, with_avx2), (plain, without) = run("auto"), run("off")
    assert (usual, plain) == ("avx2", "none")
    assert with_avx2 == without


def test_the_path_of_this_process(each_engine: str) -> None:
    """So that a run of all tests with CAPEVAL_SIMD=off cannot miss its aim."""
    can = each_engine == "compiled" and has_avx2() and os.environ.get("CAPEVAL_SIMD") != "off"
    assert engine.load().simd() == ("avx2" if can else "none")


def test_an_unknown_value_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAPEVAL_SIMD", "of")
    with pytest.raises(CapevalError, match="CAPEVAL_SIMD is 'of'; it must be one of: auto, off"):
        engine.load()
