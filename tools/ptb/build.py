"""Writes src/capeval/data/ptb.npz from the rules. Run it after changing a rule: `python tools/ptb/build.py`."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(ROOT / "src")]

from automaton import build  # noqa: E402
from rules import RULES, expand  # noqa: E402
from symbols import symbol_sets  # noqa: E402

from capeval.text.scanner import KINDS, Scanner  # noqa: E402

CUT = {"split_2": 2, "split_3": 3}
REREAD = {"acronym": 1, "repeat_dot": 1}
# Kinds that only steer the scanner; to the rest of the pipeline their text is plain or nothing.
MEANING = {"split_2": "plain", "split_3": "plain", "repeat_dot": "plain", "delete": "skip", "line": "skip"}


def make() -> Scanner:
    tokens = [f"(?:{expand(rule.token)})" for rule in RULES]
    follows = [f"(?:{expand(rule.follow)})" for rule in RULES]
    looking = [i for i, rule in enumerate(RULES) if rule.follow]
    main = [
        token + follow if rule.follow else token for rule, token, follow in zip(RULES, tokens, follows, strict=True)
    ]
    parts = [[tokens[i]] for i in looking] + [[follows[i]] for i in looking]
    table = build([main, *parts], symbol_sets())
    heads, tails = np.zeros(len(RULES), np.uint16), np.zeros(len(RULES), np.uint16)
    heads[looking] = table.starts[1 : 1 + len(looking)]
    tails[looking] = table.starts[1 + len(looking) :]
    return Scanner(
        unit_class=table.unit_class.astype(np.uint8),
        transitions=np.ascontiguousarray(table.transitions, np.uint16),
        accepts=table.accepts.astype(np.int16),
        start=table.starts[0],
        kinds=np.array([KINDS.index(MEANING.get(rule.kind, rule.kind)) for rule in RULES], np.uint8),
        heads=heads,
        tails=tails,
        cut=np.array([CUT.get(rule.kind, 0) for rule in RULES], np.uint8),
        reread=np.array([REREAD.get(rule.kind, 0) for rule in RULES], np.uint8),
    )


if __name__ == "__main__":
    scanner = make()
    target = ROOT / "src" / "capeval" / "data" / "ptb.npz"
    np.savez_compressed(target, **scanner._asdict())
    states, classes = scanner.transitions.shape
    print(f"{target}: {states} states, {classes} classes, {target.stat().st_size:,} bytes")
