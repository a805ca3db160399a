"""A scene graph as an SVG picture: objects from left to right, attributes below them, relations between.

Every label has its own solid background, so that the picture is readable on light and on dark pages.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from capeval.engine.scene import alike

if TYPE_CHECKING:
    from capeval.engine.scene import Concept, ConceptGraph

FONT_SIZE = 13
HEIGHT = 24
GAP = 8
COLUMN_GAP = 40
MARGIN = 10
PORT = 6
COLORS = {"object": "#a8433a", "attribute": "#3d7a48", "relation": "#35679a"}
LINE = "#808080"

# XML cannot hold these characters at all, not even escaped.
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass
class _Box:
    label: str
    kind: str
    is_hollow: bool = False
    x: float = 0.0
    y: float = 0.0
    width: float = 0.0
    column: int = 0

    @property
    def middle(self) -> float:
        return self.y + HEIGHT / 2


@dataclass
class _Block:
    """What is stacked in a column: a relation, or an object with its attributes below."""

    head: _Box
    below: list[_Box]

    @property
    def height(self) -> float:
        return (1 + len(self.below)) * HEIGHT + len(self.below) * GAP / 2


def svg(graph: ConceptGraph, other: ConceptGraph | None = None) -> str:
    """The picture as the text of an SVG file; where another graph is given, what that one lacks is hollow."""
    known = None if other is None else other.tuples()

    def box(each: tuple[Concept, ...], concept: Concept, kind: str) -> _Box:
        return _box(concept, kind, known is not None and not any(alike(each, one) for one in known))

    objects = {id(each): _Block(box((each,), each, "object"), []) for each in graph.objects}
    for owner, attribute in graph.attributes:
        objects[id(owner)].below.append(box((owner, attribute), attribute, "attribute"))
    relations = [
        (id(one), _Block(box((one, each, thing), each, "relation"), []), id(thing))
        for one, each, thing in graph.relations
    ]
    _choose_columns(objects, relations)
    blocks = [*objects.values(), *(block for _, block, _ in relations)]
    links = [(objects[subject], block) for subject, block, _ in relations]
    links += [(block, objects[thing]) for _, block, thing in relations]
    width, height = _place(blocks, links)
    lines = [_curve(start.head, end.head, has_tip=start.head.kind == "relation") for start, end in links]
    lines += [_stem(block) for block in objects.values() if block.below]
    boxes = [_drawn(box) for block in blocks for box in (block.head, *block.below)]
    return "\n".join([_opening(width, height), *lines, *boxes, "</svg>"])


def _box(concept: Concept, kind: str, is_hollow: bool) -> _Box:
    label = _FORBIDDEN.sub("\ufffd", str(concept))
    return _Box(label, kind, is_hollow, width=_text_width(label) + 18)


def _text_width(text: str) -> float:
    """An estimate from above: no font is at hand. Beyond Latin and Greek, characters are often twice as wide."""
    return FONT_SIZE * sum(0.6 if ord(character) < 0x1100 else 1.1 for character in text)


def _choose_columns(objects: dict[int, _Block], relations: list[tuple[int, _Block, int]]) -> None:
    """Objects get even columns, to the right of what speaks of them where no cycle forbids it; relations odd ones."""
    for subject, _, thing in _without_cycles(relations):
        objects[thing].head.column = max(objects[thing].head.column, objects[subject].head.column + 2)
    for subject, block, thing in relations:
        one, other = objects[subject].head.column, objects[thing].head.column
        block.head.column = one - 1 if other < one else one + 1


def _without_cycles(relations: list[tuple[int, _Block, int]]) -> list[tuple[int, _Block, int]]:
    """Relations from subjects to objects that do not lead back, those of earlier objects first."""
    outgoing: dict[int, list[tuple[int, _Block, int]]] = {}
    for relation in relations:
        outgoing.setdefault(relation[0], []).append(relation)
    finished: list[int] = []
    kept: list[tuple[int, _Block, int]] = []
    for start in outgoing:
        path = [(start, iter(outgoing[start]))] if start not in finished else []
        while path:
            node, rest = path[-1]
            following = next(rest, None)
            if following is None:
                finished.append(node)
                path.pop()
            elif (end := following[2]) not in [known for known, _ in path]:
                kept.append(following)
                if end not in finished:
                    path.append((end, iter(outgoing.get(end, ()))))
    rank = {node: place for place, node in enumerate(reversed(finished))}
    return sorted(kept, key=lambda relation: rank[relation[0]])


def _place(blocks: list[_Block], links: list[tuple[_Block, _Block]]) -> tuple[float, float]:
    """Sets all positions; returns the size of the picture."""
    columns: dict[int, list[_Block]] = {}
    neighbours: dict[int, list[_Block]] = {id(block): [] for block in blocks}
    for block in blocks:
        columns.setdefault(block.head.column, []).append(block)
    for start, end in links:
        neighbours[id(start)].append(end)
        neighbours[id(end)].append(start)

    def wish(block: _Block) -> float:
        """The height of the first neighbour to the left; objects without any relation go to the end."""
        left = [other.head.y for other in neighbours[id(block)] if other.head.column < block.head.column]
        return min(left, default=0.0 if neighbours[id(block)] else math.inf)

    x, bottom = float(MARGIN), float(MARGIN)
    for _, members in sorted(columns.items()):
        y, width = float(MARGIN), 0.0
        for block in sorted(members, key=wish):
            y = max(y, wish(block)) if wish(block) < math.inf else y
            _stack(block, x, y)
            width = max(width, *(box.x + box.width - x for box in (block.head, *block.below)))
            y += block.height + GAP
        bottom = max(bottom, y)
        x += width + COLUMN_GAP
    return max(x - COLUMN_GAP, float(MARGIN)) + MARGIN, bottom - GAP + MARGIN


def _stack(block: _Block, x: float, y: float) -> None:
    block.head.x, block.head.y = x, y
    for row, box in enumerate(block.below, 1):
        box.x, box.y = x + GAP, y + row * (HEIGHT + GAP / 2)


def _curve(start: _Box, end: _Box, has_tip: bool) -> str:
    """From the side of one box that looks at the other to the opposite side of that one."""
    goes_right = end.column > start.column
    x1 = start.x + start.width if goes_right else start.x
    x2 = end.x if goes_right else end.x + end.width
    # Lines leave an object above its middle and arrive below it, so that tips touch only the lines they belong to.
    y1, y2 = (start.middle, end.middle + PORT) if has_tip else (start.middle - PORT, end.middle)
    middle, marker = (x1 + x2) / 2, ' marker-end="url(#scene-tip)"' if has_tip else ""
    path = f"M{x1:.1f},{y1:.1f} C{middle:.1f},{y1:.1f} {middle:.1f},{y2:.1f} {x2:.1f},{y2:.1f}"
    return f'<path d="{path}" fill="none" stroke="{LINE}" stroke-width="1.5"{marker}/>'


def _stem(block: _Block) -> str:
    """The line on which the attributes of an object hang."""
    x = block.head.x + GAP / 2
    first, last = block.head.y + HEIGHT, block.below[-1].middle
    path = f"M{x:.1f},{first:.1f} V{last:.1f}" + "".join(
        f" M{x:.1f},{box.middle:.1f} h{GAP / 2}" for box in block.below
    )
    return f'<path d="{path}" fill="none" stroke="{LINE}" stroke-width="1.5"/>'


def _drawn(box: _Box) -> str:
    corner = 3 if box.kind == "object" else HEIGHT / 2
    color = COLORS[box.kind]
    fill, ink, edge = ("#ffffff", color, f' stroke="{color}" stroke-width="1.5" stroke-dasharray="4 2"')
    if not box.is_hollow:
        fill, ink, edge = color, "#ffffff", ""
    return (
        f'<rect x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{HEIGHT}" rx="{corner}" '
        f'fill="{fill}"{edge}/><text x="{box.x + box.width / 2:.1f}" y="{box.middle + FONT_SIZE / 3:.1f}" '
        f'text-anchor="middle" fill="{ink}">{escape(box.label)}</text>'
    )


def _opening(width: float, height: float) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="sans-serif" font-size="{FONT_SIZE}" role="img" '
        'aria-label="scene graph">\n'
        '<defs><marker id="scene-tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        f'orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="{LINE}"/></marker></defs>'
    )
