"""Tables for people: as wide as the screen and no wider, with every digit and every name whole."""

from __future__ import annotations

import hashlib
import math
import os
import shutil
import sys
import textwrap
from collections.abc import Mapping, Sequence

# Into a file or a pipe, lines are as long as they need to be; texts are broken all the same.
_UNBOUNDED = 250
# Texts, unlike names and numbers, may be broken into lines this short.
_SHORTEST = 24
_GAP = 2
# What signatures say, by short names as sacreBLEU has them; other facts keep theirs.
_SHORT = {"refs": "#", "data": "d", "rev": "r", "capeval": "v", "pictures": "p", "checkpoint": "c", "table": "t"}
_LONGEST_FACT = 36
JOINED = "\u00a0"
"""A space that `wrapped` does not break at."""


def screen_width() -> int:
    """Of the terminal; COLUMNS says otherwise."""
    if os.environ.get("COLUMNS", "").isdigit() or sys.stdout.isatty():
        return shutil.get_terminal_size().columns
    return _UNBOUNDED


def table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    numbers: Sequence[int] = (),
    names: Sequence[int] = (0,),
    width: int | None = None,
) -> str:
    """The columns in `numbers` are aligned to the right; neither they nor those in `names` are ever broken.

    Columns that find no room beside the others follow below, each time after those in `names` again.
    """
    from rich.cells import cell_len

    room = width or screen_width()
    needed = []
    for place in range(len(header)):
        cells = [header[place], *(row[place] for row in rows)]
        lines = [line for cell in cells for line in cell.split("\n")]
        longest = max(map(cell_len, lines), default=0)
        whole = place in numbers or place in names
        needed.append(longest if whole else min(longest, max(_SHORTEST, _longest_word(lines))))
    key = [place for place in names if place < len(header)]
    blocks = [list(key)]
    for place in range(len(header)):
        if place in key:
            continue
        taken = sum(needed[each] + _GAP for each in blocks[-1])
        if taken + needed[place] > room and len(blocks[-1]) > len(key):
            blocks.append(list(key))
        blocks[-1].append(place)
    return "\n\n".join(_drawn(header, rows, block, numbers, names, room) for block in blocks)


def _longest_word(lines: Sequence[str]) -> int:
    from rich.cells import cell_len

    return max((cell_len(word) for line in lines for word in line.split()), default=0)


def _drawn(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    columns: Sequence[int],
    numbers: Sequence[int],
    names: Sequence[int],
    width: int,
) -> str:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 0, 0, 1), collapse_padding=True)
    for place in columns:
        right = place in numbers
        # A name longer than the screen is the one thing that must be folded.
        drawn.add_column(header[place], justify="right" if right else "left", overflow="fold", no_wrap=right)
    for row in rows:
        drawn.add_row(*(row[place] for place in columns))
    colors = sys.stdout.isatty()
    console = Console(width=width, markup=False, emoji=False, highlight=False, force_terminal=colors or None)
    with console.capture() as shown:
        console.print(drawn)
    return "\n".join(line.rstrip() for line in shown.get().strip("\n").split("\n"))


def number(value: float | None, digits: int = 4) -> str:
    """A minus before nothing but zeros is rounding, and left out."""
    if value is None or math.isnan(value):
        return "-"
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if not text.strip("-0.") else text


def wrapped(text: str, width: int | None = None, indent: str = "  ") -> list[str]:
    """A line of text broken at its spaces; what follows the first line stands further in."""
    room = width or screen_width()
    lines = textwrap.wrap(text, room, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False) or [""]
    return [line.replace(JOINED, " ") for line in lines]


def short_signature(signature: str) -> str:
    """Without parameters, which the score's label has where they are not the usual ones, and by short names.

    `#` is the number of references, `d` their hash, `r` the metric's revision, `v` the version of capeval. A long
    fact, such as the parts of a metric made of others, stands there as a hash.
    """
    _, _, facts = signature.partition("|tok:")
    pairs = (fact.partition(":")[::2] for fact in f"tok:{facts}".split("|"))
    return "|".join(f"{_SHORT.get(name, name)}:{_brief(value)}" for name, value in pairs)


def _brief(value: str) -> str:
    return value if len(value) <= _LONGEST_FACT else hashlib.blake2b(value.encode(), digest_size=6).hexdigest()


def signatures(full: Mapping[str, str], *, whole: bool = False, width: int | None = None) -> str:
    """What stands below a table of scores: each signature once, and below it the scores that it belongs to."""
    room = width or screen_width()
    if whole:
        return "\n".join(line for text in full.values() for line in _at_bars(text, room))
    labels: dict[str, list[str]] = {}
    for label, text in full.items():
        labels.setdefault(short_signature(text), []).append(label)
    lines = []
    for text, some in labels.items():
        names = [name.replace(" ", JOINED) for name in some]
        lines += [*_at_bars(text, room), *wrapped("  " + ", ".join(names), room)]
    return "\n".join(lines)


def _at_bars(text: str, room: int) -> list[str]:
    """Broken, where it is longer than a line, at the bars between its facts."""
    lines = [""]
    for fact in text.replace("|", "|\n").split("\n"):
        if lines[-1] and len(lines[-1]) + len(fact) > room:
            lines.append("  ")
        lines[-1] += fact
    return [part for line in lines for part in (wrapped(line, room, "    ") if len(line) > room else [line])]
