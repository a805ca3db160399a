"""Invented captions, for the fast parser to learn from."""

from __future__ import annotations

import importlib.util
import random
import sys
from pathlib import Path
from types import ModuleType

import pytest

from capeval.train.tasks.parser.silver import Silver

WORDS, TAGS, LABELS = (
    tuple(text.split())
    for text in (
        "a man in a red hat is riding two horses",
        "DT NN IN DT JJ NN VBZ VBG CD NNS",
        "det nsubj case det amod nmod aux root nummod dobj",
    )
)
SENTENCE = Silver(WORDS, TAGS, (2, 8, 6, 6, 6, 2, 8, 0, 10, 8), LABELS)


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    path = Path(__file__).resolve().parents[3] / "tools" / "invent_captions.py"
    spec = importlib.util.spec_from_file_location("invent_captions", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_phrases_are_nouns_with_what_belongs_to_them(tool: ModuleType) -> None:
    assert tool.phrases(SENTENCE) == ["man in a red hat", "red hat", "two horses"]
    assert tool.phrases(SENTENCE, longest=4) == ["red hat", "two horses"]


def test_captions_are_made_of_the_words_that_were_found(tool: ModuleType) -> None:
    words = tool.collect([SENTENCE])
    assert (words.nouns, words.plurals, words.verbs) == (["man", "hat"], ["horses"], ["riding"])
    captions = [tool.caption(words, random.Random(seed)) for seed in range(300)]
    assert captions == [tool.caption(words, random.Random(seed)) for seed in range(300)]
    fixed = {word for text in (*tool.SUBJECTS, *tool.PLACES, *tool.OPENERS, *tool.MODALS,
                               *tool.NUMBERS) for word in text.split()}  # fmt: skip
    known = fixed | set(SENTENCE.words) | {"is", "more", "persons", "and", "a", "child", "the"}
    assert {word for caption in captions for word in caption.split(" ")} <= known
    assert any(caption.count(" is riding ") > 1 for caption in captions), "several clauses in a caption"
    assert any(caption.count(" and ") > 1 for caption in captions), "long lists"


def test_words_are_exchanged_for_words_of_the_same_tag(tool: ModuleType) -> None:
    other = Silver(
        ("a", "zebra", "jumps", "over", "it", "now"), ("DT", "NN", "VBZ", "IN", "PRP", "RB"), (0,) * 6, ("",) * 6
    )
    exchange = tool.Exchange([SENTENCE, other], ["horses", "quokka", "napping"])
    assert exchange.new == {"NN": ["quokka"], "JJ": ["quokka"], "VBG": ["napping"]}
    captions = [exchange.caption(random.Random(seed)).split(" ") for seed in range(400)]
    assert captions == [exchange.caption(random.Random(seed)).split(" ") for seed in range(400)]
    assert {caption[1] for caption in captions if len(caption) == 6} == {"zebra", "man", "hat", "quokka"}
    assert {caption[7] for caption in captions if len(caption) == 10} == {"riding", "napping"}
    assert {caption[0] for caption in captions} == {"a"}, "articles stay"
