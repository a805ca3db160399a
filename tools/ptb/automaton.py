"""Turns a list of regular expressions into one table-driven scanner (longest match, then first rule).

The alphabet is UTF-16 code units, because the tool we must agree with sees text that way: a character outside the
basic plane is two units. Expressions use Python's syntax, with two differences that the rules rely on:

* a plain letter matches both cases, a character class matches just what it lists, and `(?-i:...)` switches the
  first off;
* a character of the private use area stands for a named set (see `symbols.py`).
"""

from __future__ import annotations

import re._constants as sre
import re._parser as sre_parser
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

UNITS = 0x10000
NO_RULE = -1


@dataclass(frozen=True)
class Scanner:
    unit_class: np.ndarray  # [65536] class of each code unit
    transitions: np.ndarray  # [states, classes]; state 0 is the dead state
    accepts: np.ndarray  # [states] index of the accepted rule, or NO_RULE
    starts: list[int]  # start state of each automaton


def both_cases(unit: int) -> frozenset[int]:
    """All units that differ from this one by case alone, each way that Unicode maps single characters."""
    char = chr(unit)
    same = {unit}
    for other in {char.lower(), char.upper(), char.title()}:
        if len(other) == 1:
            same.add(ord(other))
    return frozenset(
        same | {u for u in _CASED_ODDITIES if {chr(u).lower()[:1], chr(u).upper()[:1]} & set(map(chr, same))}
    )


# Characters whose lower or upper case is a plain ASCII letter: long s, Kelvin sign, dotted and dotless i.
_CASED_ODDITIES = (0x017F, 0x212A, 0x0130, 0x0131)


class Nfa:
    """Thompson construction. Edges carry an index into `sets`."""

    def __init__(self, symbols: Mapping[int, frozenset[int]]) -> None:
        self.symbols = symbols
        self.sets: dict[frozenset[int], int] = {}
        self.edges: list[list[tuple[int, int]]] = []
        self.empty: list[list[int]] = []

    def state(self) -> int:
        self.edges.append([])
        self.empty.append([])
        return len(self.edges) - 1

    def add(self, pattern: str) -> tuple[int, int]:
        return self._sequence(sre_parser.parse(pattern), caseless=True)

    def _sequence(self, nodes: Sequence, caseless: bool) -> tuple[int, int]:
        first = last = self.state()
        for node in nodes:
            start, end = self._node(node, caseless)
            self.empty[last].append(start)
            last = end
        return first, last

    def _node(self, node: tuple, caseless: bool) -> tuple[int, int]:
        kind, value = node
        if kind is sre.LITERAL:
            return self._chars(self._literal(value, caseless))
        if kind is sre.NOT_LITERAL:
            return self._chars(frozenset(range(UNITS)) - self._literal(value, False))
        if kind is sre.ANY:
            return self._chars(frozenset(range(UNITS)))
        if kind is sre.IN:
            return self._chars(self._class(value))
        if kind is sre.SUBPATTERN:
            _, _, off, body = value
            return self._sequence(body, caseless and not off & sre.SRE_FLAG_IGNORECASE)
        if kind is sre.BRANCH:
            return self._either([self._sequence(branch, caseless) for branch in value[1]])
        if kind is sre.MAX_REPEAT:
            return self._repeat(*value, caseless)
        raise ValueError(f"{kind} is not supported in tokenizer rules")

    def _literal(self, value: int, caseless: bool) -> frozenset[int]:
        if value in self.symbols:
            return self.symbols[value]
        return both_cases(value) if caseless else frozenset({value})

    def _class(self, items: Sequence) -> frozenset[int]:
        chars: set[int] = set()
        negate = False
        for kind, value in items:
            if kind is sre.NEGATE:
                negate = True
            elif kind is sre.RANGE:
                chars.update(range(value[0], value[1] + 1))
            elif kind is sre.LITERAL:
                chars.update(self._literal(value, False))
            else:
                raise ValueError(f"{kind} is not supported in a character class")
        return frozenset(range(UNITS)) - chars if negate else frozenset(chars)

    def _chars(self, chars: frozenset[int]) -> tuple[int, int]:
        start, end = self.state(), self.state()
        self.edges[start].append((self.sets.setdefault(chars, len(self.sets)), end))
        return start, end

    def _either(self, parts: list[tuple[int, int]]) -> tuple[int, int]:
        start, end = self.state(), self.state()
        for first, last in parts:
            self.empty[start].append(first)
            self.empty[last].append(end)
        return start, end

    def _repeat(self, low: int, high: int, body: Sequence, caseless: bool) -> tuple[int, int]:
        first = last = self.state()
        for _ in range(low):
            start, end = self._sequence(body, caseless)
            self.empty[last].append(start)
            last = end
        if high is sre.MAXREPEAT:
            start, end = self._sequence(body, caseless)
            loop = self.state()
            self.empty[last].append(loop)
            self.empty[loop].append(start)
            self.empty[end].append(loop)
            return first, loop
        out = self.state()
        for _ in range(high - low):
            self.empty[last].append(out)
            start, end = self._sequence(body, caseless)
            self.empty[last].append(start)
            last = end
        self.empty[last].append(out)
        return first, out


def build(automata: Sequence[Sequence[str]], symbols: Mapping[int, frozenset[int]]) -> Scanner:
    """One table for several automata; each is a list of alternative patterns, numbered from 0 within it."""
    nfa = Nfa(symbols)
    begins: list[list[int]] = []
    final: dict[int, int] = {}
    for patterns in automata:
        ends = [nfa.add(pattern) for pattern in patterns]
        begins.append([start for start, _ in ends])
        final.update({end: rule for rule, (_, end) in enumerate(ends)})
    unit_class, members = _classes(list(nfa.sets))
    rows, accepts, starts = _subsets(nfa, begins, final, members, int(unit_class.max()) + 1)
    return _minimise(unit_class, np.array(rows), np.array(accepts), starts)


def _classes(sets: list[frozenset[int]]) -> tuple[np.ndarray, list[list[int]]]:
    """Units that no set tells apart share a class; for each set, the classes it consists of."""
    inside = np.zeros((len(sets), UNITS), dtype=bool)
    for row, chars in zip(inside, sets, strict=True):
        row[list(chars)] = True
    _, first, unit_class = np.unique(np.packbits(inside, axis=0), axis=1, return_index=True, return_inverse=True)
    unit_class = unit_class.reshape(-1)
    return unit_class, [np.flatnonzero(row[first]).tolist() for row in inside]


def _subsets(nfa: Nfa, begins: list[list[int]], final: dict[int, int], members: list[list[int]], classes: int):
    closure_of: dict[int, frozenset[int]] = {}

    def closure(state: int) -> frozenset[int]:
        if state not in closure_of:
            seen, todo = {state}, [state]
            while todo:
                for target in nfa.empty[todo.pop()]:
                    if target not in seen:
                        seen.add(target)
                        todo.append(target)
            closure_of[state] = frozenset(s for s in seen if nfa.edges[s] or s in final)
        return closure_of[state]

    numbers: dict[frozenset[int], int] = {frozenset(): 0}
    queue: list[frozenset[int]] = [frozenset()]

    def number(subset: frozenset[int]) -> int:
        if subset not in numbers:
            numbers[subset] = len(queue)
            queue.append(subset)
        return numbers[subset]

    starts = [number(frozenset().union(*map(closure, begin))) for begin in begins]
    rows, accepts = [], []
    done = 0
    while done < len(queue):
        subset = queue[done]
        done += 1
        targets: list[set[int]] = [set() for _ in range(classes)]
        for state in subset:
            for chars, target in nfa.edges[state]:
                reach = closure(target)
                for each in members[chars]:
                    targets[each] |= reach
        rows.append([number(frozenset(t)) for t in targets])
        accepts.append(min((final[s] for s in subset if s in final), default=NO_RULE))
    return rows, accepts, starts


def _minimise(unit_class: np.ndarray, rows: np.ndarray, accepts: np.ndarray, starts: list[int]) -> Scanner:
    """Moore's partition refinement, then merging of character classes that no state tells apart."""
    label = np.unique(accepts, return_inverse=True)[1].reshape(-1)
    while True:
        refined = np.unique(np.column_stack([label, label[rows]]), axis=0, return_inverse=True)[1].reshape(-1)
        if refined.max() == label.max():
            break
        label = refined
    # The dead state keeps number 0; the others follow in order of first appearance.
    order: dict[int, int] = {}
    for each in label.tolist():
        order.setdefault(each, len(order))
    new = np.array([order[each] for each in label.tolist()])
    first = np.array([int(np.flatnonzero(new == k)[0]) for k in range(len(order))])
    table = new[rows[first]]
    columns, inverse = np.unique(table, axis=1, return_inverse=True)
    return Scanner(inverse.reshape(-1)[unit_class], columns, accepts[first], [int(new[s]) for s in starts])
