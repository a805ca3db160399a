"""docs/results.md: our own metrics beside all others and the figures of papers, on every benchmark.

    capeval bench all -m unified -m 'unified(pictures=none)' -m 'unified(references=none)' -m meaning \\
      -m meaning_words -m confirmed -m accord -m sight -m sight_words -m sight_text -m belongs -m scan \\
      --images PHOTOS --json board.json
    python tools/docs/results.py board.json [MORE.json ...]

The others' rows are those of docs/leaderboard.md. Of several files the last that has a benchmark counts. A metric of
ours that no file has keeps its row, so that after a change only what has changed is scored.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

from page import DOCS

COLUMNS = {
    "flickr8k-expert": "Flickr8k-Expert, tau-c",
    "flickr8k-cf/published": "Flickr8k-CF, tau-b",
    "composite/published": "Composite, tau-c",
    "pascal-50s/labels": "PASCAL-50S labels, %",
    "pascal-50s/votes": "PASCAL-50S votes, %",
    "thumb/machines": "THumB machines, r",
    "capeval1k": "CapEval1k, tau-b",
    "sugarcrepe": "SugarCrepe, %",
    "distractors/built": "distractors, %",
}
MARK = "<!-- made by tools/docs/results.py from here on -->"


def shown(cell: dict[str, Any] | None) -> str:
    if cell is None or cell.get("value") is None:
        return "–"
    digits = 1 if cell["value"] > 1 else 3
    rows = f" ({cell['rows']:,} rows)" if cell.get("left_out") else ""
    return f"{cell['value']:.{digits}f} [{cell['low']:.{digits}f}, {cell['high']:.{digits}f}]{rows}"


def ours(files: list[Path]) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for path in files:
        for row in json.loads(path.read_text("utf-8"))["metrics"]:
            cells = {name: shown(cell) for name, cell in row["cells"].items() if name in COLUMNS}
            found.setdefault(row["metric"], {}).update(cells)
    return found


def others(table: int) -> dict[str, dict[str, str]]:
    """A table of the leaderboard's page: 0 what was measured, 1 what is quoted from papers."""
    return read_table((DOCS / "leaderboard.md").read_text("utf-8"), table)


def read_table(text: str, place: int) -> dict[str, dict[str, str]]:
    """Rows of one of the tables, by metric, of the columns that are shown."""
    columns = {name: key for key, name in COLUMNS.items()}
    lines = text.splitlines()
    begin = [number for number, line in enumerate(lines) if line.startswith("| metric |")][place]
    titles = [cell.strip() for cell in lines[begin].strip("|").split("|")]
    header = [columns.get(title, title.partition(",")[0]) for title in titles]
    found = {}
    for line in lines[begin + 2 :]:
        if not line.startswith("|"):
            break
        name, *cells = (re.sub(r"\*\*", "", cell.strip()) for cell in line.strip("|").split("|"))
        found[name.strip("`")] = {column: cell for column, cell in zip(header[1:], cells) if column in COLUMNS}
    return found


def table(rows: dict[str, dict[str, str]], code: bool = True) -> str:
    lines = ["| metric | " + " | ".join(COLUMNS.values()) + " |", "| --- |" + " ---: |" * len(COLUMNS)]
    for name, cells in rows.items():
        label = f"`{name}`" if code else name
        lines.append(f"| {label} | " + " | ".join(cells.get(column, "–") or "–" for column in COLUMNS) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("boards", nargs="+", type=Path)
    boards = parser.parse_args().boards
    page = DOCS / "results.md"
    kept, _, made = page.read_text("utf-8").partition(MARK) if page.exists() else ("# Results", "", "")
    own = (read_table(made, 0) if made else {}) | ours(boards)
    rest = {name: cells for name, cells in others(0).items() if name not in own}
    text = (
        f"{kept.rstrip()}\n\n{MARK}\n\n## Ours\n\n{table(own)}\n\n## All others, measured here\n\n{table(rest)}\n\n"
        f"## Quoted from papers\n\n{table(others(1), code=False)}\n"
    )
    page.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
