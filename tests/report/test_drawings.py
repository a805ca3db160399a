"""Drawings of what scores come from."""

from __future__ import annotations

from xml.etree import ElementTree

from capeval.registry import parse
from capeval.report.drawings import drawings
from capeval.run import Run

CANDIDATE = ["a", "black", "dog", "runs"]
REFERENCES = [["a", "dog", "<runs>", "on", "sand"], ["the", "cat", "sleeps"]]


def drawn(metric: str) -> list[ElementTree.Element]:
    found = drawings(parse(metric).metric, CANDIDATE, REFERENCES, Run())
    return [ElementTree.fromstring(each.svg) for each in found]


def texts(picture: ElementTree.Element) -> list[str]:
    return [each.text or "" for each in picture.iter("{http://www.w3.org/2000/svg}text")]


def test_the_flow_of_words_is_drawn_for_the_nearest_reference_first() -> None:
    first, second = drawn("wmd")
    assert texts(first) == [*CANDIDATE, *REFERENCES[0]]
    assert "dog to dog" in first.attrib["aria-label"]
    assert "black to cat" in second.attrib["aria-label"] or "dog to cat" in second.attrib["aria-label"]


def test_scene_graphs_show_what_both_have() -> None:
    """The dog is in both, that it is black in the candidate alone."""
    mine, others = drawn("spice_fast")
    hollow = [each for each in mine.iter("{http://www.w3.org/2000/svg}rect") if "stroke-dasharray" in each.attrib]
    assert len(hollow) >= 1
    assert len(hollow) < len(texts(mine))
    assert "dog" in texts(mine)
    assert "dog" in texts(others)


def test_a_metric_without_a_drawing_has_none() -> None:
    assert drawn("bleu") == []
