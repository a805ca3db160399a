"""A right caption against a wrong one: what distracted and changed captions are made for."""

from __future__ import annotations

from typing import NamedTuple

TASKS = ("replace_person", "replace_scene", "share_person", "share_scene", "just_person", "just_scene")
"""What can be wrong with a distracted caption (Hodosh and Hockenmaier 2016): see `capeval.perturb.distractors`."""


class Choice(NamedTuple):
    id: str
    image: str
    right: str
    wrong: str
    references: tuple[str, ...]
    category: str
