"""Results in a sentence: who is better, on what, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath

from capeval.documents import BenchDocument, CompareDocument, ScoreDocument
from capeval.significance import holm

# Names that are listed; of more, only how many there are is said.
_LISTED = 6
CHANCE = 0.05
"""From here on a p-value is taken for chance."""


def compared(data: CompareDocument) -> str:
    """Of two systems. Of several metrics p-values are corrected, so that none wins by being one of many."""
    a, b = (_named(letter, name) for letter, name in (("A", data.a), ("B", data.b)))
    p_values = _corrected(data)
    if not p_values:
        return "No metric has a score for both systems."
    wins: dict[str, list[str]] = {"A": [], "B": []}
    for key, side in winners(data).items():
        wins[side].append(key)
    if len(p_values) == 1:
        (key,) = p_values
        each = data.comparisons[key]
        told = (
            f"A - B is {_signed(each.difference)} (95 % interval {_signed(each.low)} to {_signed(each.high)}, "
            f"{_p(p_values[key])}, permutation test)."
        )
        better = _ordered(wins, a, b)
        start = f"{better[0]} is better than {better[1]}" if better else f"{a} and {b} may well be equal"
        return f"{start} on {key}: {told}"
    return _of_several(a, b, wins, p_values)


def winners(data: CompareDocument) -> dict[str, str]:
    """The side, A or B, that is better by more than chance on each metric where one is."""
    found = {}
    for key, p in _corrected(data).items():
        difference = data.comparisons[key].difference
        if difference and p < CHANCE:
            found[key] = "A" if difference > 0 else "B"
    return found


def _corrected(data: CompareDocument) -> dict[str, float]:
    known = {key: each.p_permutation for key, each in data.comparisons.items() if each.p_permutation is not None}
    return dict(zip(known, holm(list(known.values())), strict=True))


def _ordered(wins: Mapping[str, Sequence[str]], a: str, b: str) -> tuple[str, str] | None:
    """The system that wins on more metrics, and the other."""
    if len(wins["A"]) == len(wins["B"]):
        return None
    return (a, b) if len(wins["A"]) > len(wins["B"]) else (b, a)


def _of_several(a: str, b: str, wins: Mapping[str, Sequence[str]], p_values: Mapping[str, float]) -> str:
    total = len(p_values)
    test = f"permutation test, Holm's correction for {total} metrics"
    decided = [*wins["A"], *wins["B"]]
    if not decided:
        return f"{a} and {b} may well be equal: on none of {total} metrics is the difference more than chance ({test})."
    sure = f"p ≤ {max(p_values[key] for key in decided):.3f}, {test}"
    order = _ordered(wins, a, b)
    if order is None:
        return (
            f"It depends on the metric: {a} is better on {len(wins['A'])} of {total}{_listed(wins['A'])}, {b} on "
            f"{len(wins['B'])}{_listed(wins['B'])} ({sure})."
        )
    on, against = sorted(wins.values(), key=len, reverse=True)
    if len(on) == total:
        return f"{order[0]} is better than {order[1]} on all {total} metrics ({sure})."
    text = f"{order[0]} is better than {order[1]} on {len(on)} of {total} metrics{_listed(on)}"
    if against:
        text += f", worse on {len(against)}{_listed(against)}"
    if rest := [key for key in p_values if key not in decided]:
        text += f"; on {len(rest)} the difference may be chance{_listed(rest)}"
    return f"{text} ({sure})."


def scored(data: ScoreDocument) -> str:
    """Of the systems of one result: which one leads, and where its interval lies above all others."""
    systems = data.systems or {}
    if len(systems) < 2:
        return ""
    leads: dict[str, list[str]] = {}
    clear: list[str] = []
    for key in data.scores:
        found = {name: each.scores.get(key) for name, each in systems.items()}
        values = {name: value for name, value in found.items() if value is not None}
        if not values:
            continue
        best = max(values.values())
        winners = [name for name, value in values.items() if value == best]
        if len(winners) > 1:
            continue
        leads.setdefault(winners[0], []).append(key)
        if is_clear(data, key, winners[0]):
            clear.append(key)
    if not leads:
        return "No system leads: all scores are equal."
    name, on = max(leads.items(), key=lambda item: len(item[1]))
    text = f"{name} scores highest on {len(on)} of {len(data.scores)} metrics{_listed(on) if len(leads) > 1 else ''}"
    if not any(each.intervals for each in systems.values()):
        return f"{text}; without intervals nothing says whether by more than chance."
    sure = [key for key in on if key in clear]
    if not sure:
        return f"{text}, but on none of them does its 95 % interval lie above those of the others."
    return f"{text}; on {len(sure)} of these its 95 % interval lies above those of all others{_listed(sure)}."


def benched(data: BenchDocument) -> str:
    """Which metrics agree best with people."""
    best = [row for row in data.metrics if row.best and not row.tags]
    statistic = data.comparisons[0].statistic if len(data.comparisons) == 1 else ""
    if not best or len(data.metrics) < 2:
        return ""
    first, *others = best
    value = first.estimates.get(statistic)
    figure = f" ({statistic} {value.value:.3f})" if value is not None and value.value is not None else ""
    text = f"{data.benchmark}: {first.metric} agrees best with people{figure}"
    return f"{text}; not told apart from it: {', '.join(row.metric for row in others)}." if others else f"{text}."


def is_clear(data: ScoreDocument, key: str, system: str) -> bool:
    """Whether the interval of a system's score lies above those of all other systems."""
    systems = data.systems or {}
    mine = (systems[system].intervals or {}).get(key)
    others = [(each.intervals or {}).get(key) for name, each in systems.items() if name != system]
    return mine is not None and all(other is not None and mine.low > other.high for other in others)


def _named(letter: str, name: str | None) -> str:
    return f"{letter} ({PurePath(name).name})" if name else letter


def _listed(names: Sequence[str]) -> str:
    return f" ({', '.join(names)})" if 0 < len(names) <= _LISTED else ""


def _signed(value: float | None) -> str:
    return "unknown" if value is None else f"{value:+.4f}"


def _p(value: float) -> str:
    return "p < 0.001" if value < 0.001 else f"p = {value:.3f}"
