"""Draws which room imports which into docs/architecture.md, between its two marks.

    python tools/docs/architecture.py [--check]

With --check nothing is written; the exit code tells whether the drawing is that of the code. Of imports that follow
from others (a imports b, b imports c, a imports c) only the longer way is drawn.
"""

from __future__ import annotations

import sys
from pathlib import Path

import grimp

PAGE = Path(__file__).resolve().parents[2] / "docs" / "architecture.md"
BEGIN, END = "<!-- drawn by tools/docs/architecture.py -->", "<!-- end of the drawing -->"
FORMS = {"types", "errors", "run", "expressions", "version"}
SCORING = {
    "registry", "significance", "documents", "results", "totals", "evaluate", "diversity", "bestof",
    "showing", "markup", "verdict", "explained",
}  # fmt: skip
FRONT = {"api", "compat", "meteor"}
GROUPS = {
    **dict.fromkeys(FORMS, "types, errors, run"),
    **dict.fromkeys(SCORING, "registry, results, evaluate"),
    **dict.fromkeys(FRONT, "api, compat"),
}


def rooms() -> dict[str, set[str]]:
    """For each room the rooms that it imports, at the top of a file or inside a function."""
    graph = grimp.build_graph("capeval")
    found: dict[str, set[str]] = {}
    for module in graph.modules - {"capeval", "capeval.__main__"}:
        room = _room(module)
        found.setdefault(room, set())
        for other in graph.find_modules_directly_imported_by(module):
            only_a_type = (module, other) == ("capeval.types", "capeval.corpus")
            if other != "capeval" and _room(other) != room and not only_a_type:
                found[room].add(_room(other))
    return found


def _room(module: str) -> str:
    name = module.split(".")[1]
    return GROUPS.get(name, name)


def drawing(found: dict[str, set[str]]) -> str:
    reached = {room: _reached(room, found) for room in found}
    lines = ["```mermaid", "graph BT"]
    numbers = {room: f"r{i}" for i, room in enumerate(sorted(found))}
    lines += [f'  {numbers[room]}["{room}"]' for room in sorted(found)]
    for room in sorted(found):
        others = found[room]
        direct = [other for other in sorted(others) if not any(other in reached[each] for each in others - {other})]
        lines += [f"  {numbers[room]} --> {numbers[other]}" for other in direct]
    return "\n".join([*lines, "```"])


def _reached(room: str, found: dict[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    waiting = list(found[room])
    while waiting:
        if (other := waiting.pop()) not in seen:
            seen.add(other)
            waiting += found[other]
    return seen


def main() -> int:
    text = PAGE.read_text("utf-8")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    drawn = f"{before}{BEGIN}\n{drawing(rooms())}\n{END}{after}"
    if "--check" in sys.argv[1:]:
        return int(drawn != text)
    PAGE.write_text(drawn, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
