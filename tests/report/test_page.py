"""The page as a text: what is in it, and that nobody's words can do harm in it."""

from __future__ import annotations

import re
from collections import Counter
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from capeval.report import report
from capeval.report.html import render
from capeval.report.theme import HEAT, LIGHT, SERIES, WARM

VOID = {"meta", "link", "br", "img", "input", "hr"}


class Parts(HTMLParser):
    """All elements of a page, with the text inside each."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, dict[str, str], list[str]]] = []
        self.open: list[int] = []
        self.stray: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, {key: value or "" for key, value in attrs}, []))
        if tag not in VOID:
            self.open.append(len(self.found) - 1)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, {key: value or "" for key, value in attrs}, []))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.found[self.open.pop()][0] != tag:
            self.stray.append(tag)

    def handle_data(self, data: str) -> None:
        for place in self.open:
            self.found[place][2].append(data)

    def all(self, tag: str) -> list[tuple[dict[str, str], str]]:
        return [(attributes, "".join(text)) for name, attributes, text in self.found if name == tag]


@pytest.fixture(scope="module")
def text(page: Path) -> str:
    return page.read_text("utf-8")


@pytest.fixture(scope="module")
def parts(text: str) -> Parts:
    return Parts(text)


def test_every_element_is_closed(parts: Parts) -> None:
    assert not parts.stray
    assert not parts.open


def test_ids_are_unique_and_references_have_a_target(parts: Parts, text: str) -> None:
    ids = Counter(attributes["id"] for _, attributes, _ in parts.found if "id" in attributes)
    assert max(ids.values()) == 1
    wanted = set(re.findall(r"url\(#([^)]+)\)", text))
    for _, attributes, _ in parts.found:
        wanted.update(attributes.get("aria-labelledby", "").split())
        if attributes.get("href", "").startswith("#"):
            wanted.add(attributes["href"][1:])
    assert wanted <= set(ids)


def test_nothing_is_fetched(parts: Parts, text: str) -> None:
    places = [
        attributes[key] for _, attributes, _ in parts.found for key in ("src", "href", "action") if key in attributes
    ]
    assert all(place.startswith(("#", "data:")) for place in places)
    assert not parts.all("img")
    assert not parts.all("iframe")
    (style,) = parts.all("style")
    assert "@import" not in style[1]
    assert not re.findall(r"url\((?!#)", text)
    policy = next(each["content"] for each, _ in parts.all("meta") if "http-equiv" in each)
    assert policy.startswith("default-src 'none'")


def test_captions_cannot_run_or_load_anything(parts: Parts, text: str) -> None:
    assert text.count("<script") == 1
    assert "<img" not in text
    assert "&lt;script&gt;alert" in text
    assert not [attributes for _, attributes, _ in parts.found if any(key.startswith("on") for key in attributes)]


def test_the_policy_allows_the_script_that_is_there(parts: Parts) -> None:
    import base64
    import hashlib

    ((_, script),) = parts.all("script")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = next(each["content"] for each, _ in parts.all("meta") if "http-equiv" in each)
    assert f"script-src 'sha256-{digest}'" in policy


def test_every_figure_is_told_in_words(parts: Parts) -> None:
    figures, drawings = parts.all("figure"), parts.all("svg")
    assert 2 * len(figures) == len(drawings) >= 30  # for screens, and for phones
    by_id = {attributes["id"]: "".join(words) for _, attributes, words in parts.found if "id" in attributes}
    for attributes, _ in drawings:
        assert attributes["role"] == "img"
        title, description = attributes["aria-labelledby"].split()
        assert len(by_id[title]) > 5
        assert re.search(r"\d", by_id[description])


def test_tables_have_headers(parts: Parts, text: str) -> None:
    tables = re.findall(r"<table.*?</table>", text, re.DOTALL)
    assert len(tables) >= 20
    for table in tables:
        assert '<th scope="col"' in table
        assert table.count("<tr>") == table.count('<th scope="row"') + 1


def test_colours_come_from_the_style_sheet(text: str) -> None:
    drawings = "".join(re.findall(r"<svg.*?</svg>", text, re.DOTALL))
    assert set(re.findall(r"#[0-9a-f]{6}", drawings)) == set()
    for role in ("ink", "accent", "heat8", "s1"):
        assert f"var(--{role})" in drawings


@pytest.mark.parametrize(
    "part",
    ["Scores of each caption", "Distributions", "Correlation between metrics", "Best and worst captions",
     "Where metrics disagree", "Comparison", "flickr8k-expert", "Significance", "Scores in each grade",
     "How far metrics err", "Best combinations", "Where metrics and people disagree", "Number of references",
     "Robustness", "Component sensitivity", "Attacks", "How it was made"],
)  # fmt: skip
def test_parts(parts: Parts, part: str) -> None:
    headings = [words for level in ("h2", "h3", "h4") for _, words in parts.all(level)]
    assert part in headings
    assert part in [words for _, words in parts.all("a")]


def test_commands_and_signatures(text: str) -> None:
    assert "capeval report &#x27;a b.json&#x27; -o report.html" in text
    assert "capeval robust ... -r &#x27;my refs.json&#x27;" in text
    assert "cider_d(n=4, df=corpus, stem=false, sigma=6)|tok:ptb|" in text


def test_the_same_results_give_the_same_page(compared: dict[str, Any]) -> None:
    pytest.importorskip("matplotlib")
    assert report(compared).html() == report(compared).html()


def test_a_page_is_small(page: Path) -> None:
    assert page.stat().st_size < 1_500_000


def test_a_page_without_figures_needs_no_matplotlib() -> None:
    assert "<main" in render("nothing", "", [], lambda name: None)


# Colours ------------------------------------------------------------------------------------------------------------


def luminance(color: str) -> float:
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(a: str, b: str) -> float:
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


def dark() -> dict[str, str]:
    css = files("capeval.report").joinpath("page.css").read_text("utf-8")
    block = css[css.index("prefers-color-scheme: dark") :].split("}")[0]
    return dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", block))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everything_can_be_read(scheme: str) -> None:
    """4.5 to 1 is what the accessibility guidelines ask of text, 3 to 1 of lines."""
    from capeval.report.plots import _heat_level

    colors = LIGHT if scheme == "light" else dark()
    assert set(LIGHT) <= set(colors)
    for role in ("ink", "muted"):
        assert contrast(colors[role], colors["paper"]) >= 4.5
    for number in range(1, SERIES + 1):
        assert contrast(colors[f"s{number}"], colors["paper"]) >= 3
    cells = [_heat_level(value / 100, "correlation") for value in range(-100, 101)]
    assert {role for role, _ in cells} >= {f"heat{i}" for i in range(HEAT)} | {f"warm{i}" for i in range(1, WARM)}
    for role, strong in cells:
        assert contrast(colors[role], colors["onhigh" if strong else "onlow"]) >= 4.5, role
