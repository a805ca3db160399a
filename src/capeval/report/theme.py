"""Colours by what they are for. Drawings on the page take theirs from the style sheet: light and dark both work.

A figure for the page is drawn with one made-up colour for each role, and `page_colors` puts the style sheet's variable
in its place. The hues are told apart by people who do not see red or green; lines differ in dash and marker as well.
"""

from __future__ import annotations

import re

SERIES = 8
HEAT = 11
WARM = 6

LIGHT = {
    "ink": "#1b1f24",
    "muted": "#5b6470",
    "grid": "#d9dee5",
    "paper": "#ffffff",
    "accent": "#0b5fa5",
    **dict(
        zip(
            (f"s{i}" for i in range(1, SERIES + 1)),
            ("#0b5fa5", "#c2500b", "#0b7d5c", "#a8407f", "#8a6500", "#1f7fb0", "#6b4fa0", "#6a6f76"),
        )
    ),
    **dict(
        zip(
            (f"heat{i}" for i in range(HEAT)),
            ("#f4f7fb", "#e6eef7", "#d5e3f1", "#c0d6ea", "#a6c5e2", "#87b1d7", "#659aca", "#3b74aa", "#29639b",
             "#174f88", "#08376a"),
        )
    ),
    **dict(
        zip(
            (f"warm{i}" for i in range(WARM)),
            ("#f4f7fb", "#fbe6d6", "#f6cba9", "#eda870", "#dc7f3b", "#a94f0a"),
        )
    ),
    "onlow": "#1b1f24",
    "onhigh": "#ffffff",
}  # fmt: skip

HEAT_OVER_PICTURE = (
    "#090028", "#340044", "#660250", "#9c054b", "#d40624", "#e5630b", "#f49711", "#f2cb72", "#f9f6b7",
)  # fmt: skip
"""From the coldest to the hottest, in even steps of lightness; the same on light and dark pages, as photographs are."""

_SENTINELS = {role: f"#01{number:02x}fe" for number, role in enumerate(LIGHT)}
PAGE = dict(_SENTINELS)
_ROLE_OF = {color: role for role, color in _SENTINELS.items()}
_SENTINEL = re.compile(r"#01[0-9a-f]{2}fe")


def page_colors(style: str) -> str:
    """A style attribute with the style sheet's variables in place of the made-up colours."""
    return _SENTINEL.sub(lambda found: f"var(--{_ROLE_OF[found.group()]})", style)
