"""Whether captions and references call up the same picture, with the network that comes with capeval."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from capeval.corpus import Corpus
from capeval.errors import CapevalError
from capeval.evaluate import evaluate
from capeval.metrics.explaining import explain
from capeval.metrics.meaning import Meaning
from capeval.metrics.sight_text import SightText, read_for_both
from capeval.run import Run
from capeval.runtime.sight import open_sight
from capeval.types import Dataset, Sample

pytest.importorskip("onnxruntime")
pytest.importorskip("tokenizers")
pytest.importorskip("capeval_models_unified")

REFERENCES = ("a brown dog runs across the wet sand", "a dog is running on a beach")


def scores(*candidates: str, references: tuple[str, ...] = REFERENCES) -> np.ndarray:
    dataset = Dataset.from_samples([Sample(str(i), str(i), text, references) for i, text in enumerate(candidates)])
    return np.array(evaluate(dataset, ["sight_text"]).per_caption["sight_text"])


def test_other_words_for_the_same_picture_score_above_another_picture() -> None:
    same, near, other, nothing = scores(
        "a puppy sprinting along the shore", "a horse running on a beach", "a plate of food on a table", ""
    )
    assert 1 >= same > near > other >= 0 == nothing


def test_it_is_the_mean_cosine_of_the_caption_side_of_sight() -> None:
    text = "a man with a dog by the sea"
    own, *others = open_sight().read([each.split() for each in (text, *REFERENCES)])
    (found,) = scores(text)
    assert found == pytest.approx(np.mean([own @ other for other in others]), abs=1e-6)
    assert scores(text, references=(text,))[0] == pytest.approx(1, abs=1e-6)


def test_a_caption_scores_alike_in_any_company() -> None:
    dataset = Dataset.from_samples(
        [Sample(str(number), "1", f"a dog number {number} runs on grass", REFERENCES) for number in range(40)]
    )
    together = SightText().stats(Corpus(dataset, Run(threads=2)))
    np.testing.assert_array_equal(SightText().stats(Corpus(dataset.rows([17])))[0], together[17])


def test_belonging_is_the_same_however_references_are_numbered() -> None:
    several = (*REFERENCES, "a dog runs along the shore", "waves roll in at sunset", "a wet dog", "the sea and a dog")
    sample = Sample("0", "0", "a dog by the sea", several)
    alone = SightText().stats(Corpus(Dataset.from_samples([sample])))
    # Captions of rows before it come first: then the references are numbered in this order.
    for order in permutations(several[:4]):
        before = [Sample(str(number), "1", text, ("a cat",)) for number, text in enumerate(order, 1)]
        together = SightText().stats(Corpus(Dataset.from_samples([*before, sample])))
        np.testing.assert_array_equal(together[-1], alone[0])


def belongs(candidate: str, *references: str) -> float:
    dataset = Dataset.from_samples([Sample("1", "1", candidate, references)])
    return evaluate(dataset, ["belongs"]).per_caption["belongs"][0]


def test_what_belongs_is_as_like_its_references_as_they_are_like_each_other() -> None:
    text = "a man with a dog by the sea"
    own, *others = open_sight().read([each.split() for each in (text, *REFERENCES)])
    alike = np.mean([own @ other for other in others])
    among = (others[0] @ others[1] + 4 * 0.7) / 5  # one pair, beside four as alike as usual
    assert belongs(text, *REFERENCES) == pytest.approx(alike**3 / (alike**3 + among**3), abs=1e-6)


def test_unlike_references_ask_for_less_but_not_for_nothing() -> None:
    unlike = ("a dog runs on a beach", "waves roll in at sunset")
    same, other, nothing = (belongs(text, *unlike) for text in ("a dog by the sea", "a plate of food on a table", ""))
    (alike,) = scores("a dog by the sea", references=unlike)
    assert same > alike**3 / (alike**3 + 0.7**3)  # of references that are as alike as usual
    assert same > 5 * other
    assert other > nothing == 0


def test_the_order_of_references_and_what_is_said_twice_do_not_matter() -> None:
    several = (*REFERENCES, "a dog runs along the shore", "waves roll in at sunset")
    whole = belongs("a dog by the sea", *several)
    assert belongs("a dog by the sea", *reversed(several)) == pytest.approx(whole, abs=1e-12)
    once, twice = (("a dog",), ("a dog", "a dog"))
    assert belongs("a puppy", *once) == belongs("a puppy", *twice)


@pytest.mark.parametrize("references", [("a dog",), ("a dog", "")])
def test_where_no_two_references_can_be_compared_they_are_as_alike_as_usual(references: tuple[str, ...]) -> None:
    alike = np.mean([scores("a puppy", references=(each,))[0] for each in references])
    assert belongs("a puppy", *references) == pytest.approx(alike**3 / (alike**3 + 0.7**3))


def test_both_scores_are_told_where_either_is_explained() -> None:
    references = [each.split() for each in REFERENCES]
    (told,) = explain(SightText(), ["a", "dog", "by", "the", "sea"], references, Run())
    assert told.facts["belongs"] == pytest.approx(belongs("a dog by the sea", *REFERENCES))
    assert told.facts["sight_text"] == pytest.approx(scores("a dog by the sea")[0])


def test_references_are_needed() -> None:
    with pytest.raises(CapevalError, match="reference"):
        evaluate(Dataset.from_samples([Sample("1", "1", "a dog")]), ["sight_text"])


def test_read_at_once_with_meaning_nothing_changes() -> None:
    texts = [*(f"a dog number {number} runs on grass" for number in range(40)), "", REFERENCES[0], "a cat"]
    dataset = Dataset.from_samples([Sample(str(i), str(i), text, REFERENCES) for i, text in enumerate(texts)])
    alone, together, half = Corpus(dataset), Corpus(dataset), Corpus(dataset)
    read_for_both(together)
    half.stats(Meaning())
    read_for_both(half)  # one of the two has read all already
    for metric in (Meaning(), SightText()):
        for shared in (together, half):
            np.testing.assert_array_equal(alone.stats(metric), shared.stats(metric))
