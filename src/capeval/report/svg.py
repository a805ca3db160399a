"""A drawing as part of the page: colours of the style sheet, ids of its own, and words for those who do not see it."""

from __future__ import annotations

import re
from html import escape
from xml.etree import ElementTree

from capeval.report import plots
from capeval.report.charts import Chart, describe
from capeval.report.theme import PAGE, page_colors

_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_VOID = {"path", "use", "rect", "circle", "line"}


def inline_svg(chart: Chart, key: str, title: str) -> str:
    """The chart as `<svg>` elements, one for screens and one for phones; `key` is unique on the page and begins all
    ids in them."""
    return _svg(chart, key, title, narrow=False) + _svg(chart, f"{key}-narrow", title, narrow=True)


def _svg(chart: Chart, key: str, title: str, *, narrow: bool) -> str:
    # The drawing is ours, not the user's: what they wrote is escaped text in it.
    root = ElementTree.fromstring(plots.draw(chart, PAGE, narrow=narrow))
    _drop(root, "metadata", "style")
    used = _used_ids(root)
    parts = [_written(child, key, used) for child in root]
    size = root.attrib["viewBox"]
    width = float(size.split()[2])
    return (
        f'<svg class="{"narrow" if narrow else "wide"}" role="img" aria-labelledby="{key}-title {key}-desc" '
        f'viewBox="{size}" style="--width: {width:.0f}px">'
        f'<title id="{key}-title">{escape(title)}</title><desc id="{key}-desc">{escape(describe(chart))}</desc>'
        f"{''.join(parts)}</svg>"
    )


def _name(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


def _drop(element: ElementTree.Element, *names: str) -> None:
    for child in list(element):
        if _name(child) in names:
            element.remove(child)
        else:
            _drop(child, *names)


def _used_ids(root: ElementTree.Element) -> set[str]:
    used: set[str] = set()
    for element in root.iter():
        for name, value in element.attrib.items():
            used.update(_REFERENCE.findall(value))
            if name.endswith("href"):
                used.add(value.removeprefix("#"))
    return used


def _written(element: ElementTree.Element, key: str, used: set[str]) -> str:
    name = _name(element)
    attributes = []
    for full, value in element.attrib.items():
        attribute = full.rpartition("}")[2]
        if attribute == "id":
            if value not in used:
                continue
            value = f"{key}-{value}"
        elif attribute == "href":
            value = f"#{key}-{value.removeprefix('#')}"
        elif attribute == "style":
            value = page_colors(value)
        value = _REFERENCE.sub(rf"url(#{key}-\1)", value)
        attributes.append(f' {attribute}="{escape(value)}"')
    inside = escape((element.text or "").strip()) + "".join(_written(child, key, used) for child in element)
    if name == "g" and not attributes:
        return inside
    if name in _VOID and not inside:
        return f"<{name}{''.join(attributes)}/>"
    return f"<{name}{''.join(attributes)}>{inside}</{name}>"
