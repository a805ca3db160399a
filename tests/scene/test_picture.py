"""The picture of a scene graph."""

from __future__ import annotations

from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from capeval.scene.picture import svg
from capeval.scene.scene_graph import SceneGraph

SVG = "{http://www.w3.org/2000/svg}"


def drawn(*tuples: tuple[str, ...]) -> ElementTree.Element:
    return ElementTree.fromstring(svg(SceneGraph(tuples)))


def labels(picture: ElementTree.Element) -> list[str]:
    return [text.text or "" for text in picture.iter(f"{SVG}text")]


def boxes(picture: ElementTree.Element) -> list[tuple[float, float, float, float]]:
    return [
        (float(r.get("x", 0)), float(r.get("y", 0)), float(r.get("width", 0)), float(r.get("height", 0)))
        for r in picture.iter(f"{SVG}rect")
    ]


def test_all_labels_are_there() -> None:
    picture = drawn(
        ("man", "horse", "ride"), ("man", "young"), ("horse", "brown"), ("cloud",), ("horse", "man", "carry")
    )
    assert sorted(labels(picture)) == ["brown", "carry", "cloud", "horse", "man", "ride", "young"]


def test_relations_have_tips_and_lines() -> None:
    paths = [path for path in drawn(("cat", "mat", "on")).iter(f"{SVG}path") if path.get("stroke")]
    assert [path.get("marker-end") for path in paths] == [None, "url(#scene-tip)"]


def test_markup_in_words_is_text() -> None:
    assert labels(drawn(('<b>&"',), ("a\x00b",), ("犬",))) == ['<b>&"', "a\ufffdb", "犬"]


def test_an_empty_graph_is_a_picture() -> None:
    assert labels(drawn()) == []


def test_the_graph_shows_itself() -> None:
    graph = SceneGraph([("cat",)])
    assert graph._repr_svg_() == svg(graph)


words = st.sampled_from(["qa", "qbb", "qccc", "qd", "qee"])
tuples = st.one_of(st.tuples(words), st.tuples(words, words), st.tuples(words, words, words))


@given(st.lists(tuples, max_size=12))
def test_boxes_do_not_overlap_and_lie_inside(found: list[tuple[str, ...]]) -> None:
    picture = drawn(*found)
    width, height = float(picture.get("width", 0)), float(picture.get("height", 0))
    placed = boxes(picture)
    for i, (x, y, w, h) in enumerate(placed):
        assert 0 <= x <= x + w <= width
        assert 0 <= y <= y + h <= height
        for x2, y2, w2, h2 in placed[:i]:
            assert x + w <= x2 or x2 + w2 <= x or y + h <= y2 or y2 + h2 <= y
