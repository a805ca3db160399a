"""Calls written for pycocoevalcap give its numbers."""

from __future__ import annotations

import gzip
import json
import math
import pickle
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from capeval.compat import (
    Bleu,
    Cider,
    CiderD,
    Meteor,
    PlainCider,
    PTBTokenizer,
    Rouge,
    Spice,
    compute_score,
)
from capeval.errors import CapevalError, DataError

GTS = {7: ["a dog runs", "the dog"], "x": ["a cat"], 3: ["two birds fly"]}
RES = {3: ["two birds"], "x": ["a cat"], 7: ["a cat runs"]}


@pytest.fixture
def tokenised(official_300: dict[str, Any]) -> tuple[dict[int, list[str]], dict[int, list[str]]]:
    """Both sides as the official example prepares them."""
    references = {int(key): [{"caption": text} for text in texts] for key, texts in official_300["references"].items()}
    candidates = {int(key): [{"caption": text}] for key, text in official_300["candidates"].items()}
    tokenizer = PTBTokenizer()
    return tokenizer.tokenize(references), tokenizer.tokenize(candidates)


def test_official_numbers(tokenised: tuple[Any, Any], official_300: dict[str, Any]) -> None:
    gts, res = tokenised
    res = dict(reversed(res.items()))  # scores come in the order of gts
    corpus, per_caption = official_300["corpus"], official_300["per_caption"]
    scores, per_image = Bleu(4).compute_score(gts, res)
    for n in range(4):
        assert scores[n] == pytest.approx(corpus[f"bleu_{n + 1}"], abs=1e-9)
        np.testing.assert_allclose(per_image[n], per_caption[f"bleu_{n + 1}"], rtol=0, atol=1e-9)
    for scorer, name in ((Rouge(), "rouge_l"), (Cider(), "cider_d")):
        score, each = scorer.compute_score(gts, res)
        assert score == pytest.approx(corpus[name], abs=1e-9)
        np.testing.assert_allclose(each, per_caption[name], rtol=0, atol=1e-9)


def test_shapes_are_those_of_the_official_scorers() -> None:
    scores, per_image = Bleu(2).compute_score(GTS, RES, verbose=0)
    assert [type(score) for score in scores] == [float, float]
    assert [len(each) for each in per_image] == [3, 3]
    score, per_image = Rouge().compute_score(GTS, RES)
    assert isinstance(score, float)
    assert isinstance(per_image, np.ndarray)
    assert [s.method() for s in (Bleu(), Meteor(), Rouge(), Cider())] == ["Bleu", "METEOR", "Rouge", "CIDEr"]


def test_ids_come_in_the_order_of_gts() -> None:
    _, per_image = compute_score(GTS, RES, "rouge")
    assert per_image.tolist() == pytest.approx([2 / 3, 1, 2.44 * 2 / 3 / (2 / 3 + 1.44)])


def test_captions_are_taken_as_tokenised() -> None:
    score, _ = compute_score({1: ["A dog ."]}, {1: ["a dog"]}, "rouge(beta=1)")
    assert score == pytest.approx(2 * (1 / 2) * (1 / 3) / (1 / 2 + 1 / 3))


def test_cider_parameters() -> None:
    assert Cider(n=2, sigma=1.5).compute_score(GTS, RES)[0] == compute_score(GTS, RES, "cider_d(n=2, sigma=1.5)")[0]


def test_tokenizer_takes_dicts_and_texts() -> None:
    tokens = PTBTokenizer().tokenize(
        {1: [{"caption": "A dog."}, {"caption": "Don't!", "id": 5}], 2: ["A\u2028cat"], 3: []}
    )
    assert tokens == {1: ["a dog", "do n't"], 2: ["a cat"], 3: []}


@pytest.mark.parametrize(
    ("gts", "res", "message"),
    [
        ({1: ["a"], 2: ["b"]}, {1: ["a"]}, "same ids; 1 are in one only. Ids: '2'"),
        ({1: ["a"]}, {1: ["a"], 9: ["b"]}, "same ids; 1 are in one only. Ids: '9'"),
        ({1: ["a"]}, {1: ["a", "b"]}, "one caption for each id. Ids: '1'"),
        ({1: ["a"]}, {1: []}, "one caption for each id"),
        ({1: []}, {1: ["a"]}, "at least one caption"),
        ({1: "a dog"}, {1: ["a"]}, "a list of captions for each id"),
        ({1: ["a"]}, {1: "a"}, "a list of captions for each id"),
        ({}, {}, "no captions"),
    ],
)
def test_bad_input(gts: Any, res: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        compute_score(gts, res, "bleu")


def test_bad_parameters_are_reported_at_once() -> None:
    with pytest.raises(CapevalError, match="1 to 4"):
        Bleu(5)
    with pytest.raises(CapevalError, match="n is 0"):
        Cider(n=0)


# --- as the originals are called ---


def test_rouge_splits_at_single_spaces_as_the_original_does() -> None:
    gts = {1: ["a  dog runs ", "a\tdog"], 2: [""], 3: ["two\u00a0birds fly"]}
    res = {1: ["a dog  runs"], 2: [""], 3: ["two birds fly"]}
    # Row 1: "a", "dog", "", "runs" against "a", "", "dog", "runs", "": three in common. Row 2: an empty token each.
    expected = [2.44 * 0.75 * 0.6 / (0.6 + 1.44 * 0.75), 1.0, 2.44 * (1 / 3) * 0.5 / (0.5 + 1.44 / 3)]
    assert Rouge().compute_score(gts, res)[1].tolist() == pytest.approx(expected, abs=1e-12)


def test_equal_to_the_originals_on_untidy_text() -> None:
    """Those of the original that are Python run here."""
    bleu = pytest.importorskip("pycocoevalcap.bleu.bleu").Bleu
    rouge = pytest.importorskip("pycocoevalcap.rouge.rouge").Rouge
    cider = pytest.importorskip("pycocoevalcap.cider.cider").Cider
    texts = ["A dog  runs.", " a dog runs", "a\u00a0dog runs ", "two birds\tfly over\nthe sea", "a a  a", "the sea"]
    gts = {i: [texts[i - 1], texts[i - 2]] for i in range(6)}
    res = {i: [texts[i]] for i in range(6)}
    for theirs, ours in ((bleu(4), Bleu(4)), (rouge(), Rouge()), (cider(), Cider())):
        options = {"verbose": 0} if isinstance(ours, Bleu) else {}
        expected, each = theirs.compute_score(gts, res, **options)
        found, found_each = ours.compute_score(gts, res, **options)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
        np.testing.assert_allclose(found_each, each, rtol=0, atol=1e-9)


def test_rouge_has_beta_and_scores_one_caption() -> None:
    rouge = Rouge()
    assert rouge.beta == 1.2
    assert rouge.calc_score(["a dog"], ["a cat runs"]) == pytest.approx(2.44 * 0.5 / 3 / (1 / 3 + 1.44 * 0.5))
    rouge.beta = 1.0
    assert rouge.calc_score(["a dog"], ["a cat runs"]) == pytest.approx(2 * 0.5 / 3 / (1 / 3 + 0.5))


def test_names_of_scorers() -> None:
    assert [str(s) for s in (Bleu(), Meteor(), Rouge(), Cider())] == ["BLEU", "METEOR", "ROUGE", "CIDEr"]
    assert (str(CiderD()), CiderD().method(), PlainCider().method()) == ("CIDEr-D", "CIDEr-D", "CIDEr")
    Meteor().close()


def test_tokenizer_of_other_versions() -> None:
    assert PTBTokenizer("gts").tokenize({1: [{"caption": "A dog."}]}) == {1: ["a dog"]}
    assert PTBTokenizer.tokenize(["A dog.", "Cats"]) == {0: ["a dog"], 1: ["cats"]}
    assert PTBTokenizer.tokenize([["A dog.", "Cats"], ("One",)]) == {0: ["a dog", "cats"], 1: ["one"]}
    assert PTBTokenizer().tokenize([{"caption": "A dog."}]) == {0: ["a dog"]}


def test_results_as_a_list() -> None:
    """In its own order, an id may come again, and counts again as a document; references of other ids do not count."""
    listed = [{"image_id": 3, "caption": ["two birds"]}, {"image_id": 7, "caption": ["a cat runs"]}]
    listed.append({"image_id": 3, "caption": ["a bird"]})
    score, each = CiderD().compute_score(GTS, listed)
    gts = {0: GTS[3], 1: GTS[7], 2: GTS[3]}
    expected = Cider().compute_score(gts, {i: row["caption"] for i, row in enumerate(listed)})
    assert score == expected[0]
    assert each.tolist() == expected[1].tolist()
    assert each[0] > 0
    for bad in ([{"image_id": 99, "caption": ["a"]}], [{"image_id": 3, "caption": "a"}], ["a"], [{"caption": ["a"]}]):
        with pytest.raises(DataError, match=r"(gts has not|not a text|must be a dict)"):
            CiderD().compute_score(GTS, bad)


def test_cider_of_one_image_is_0_with_a_warning() -> None:
    for scorer in (Cider(), CiderD(), PlainCider()):
        with pytest.warns(UserWarning, match=r'CIDEr over one image is 0.*df="coco-val2014"'):
            score, each = scorer.compute_score({1: ["a dog"]}, {1: ["a dog"]})
        assert (score, each.tolist()) == (0.0, [0.0])
    with pytest.warns(UserWarning, match="CIDEr over one image"):
        assert compute_score({1: ["a dog"]}, {1: ["a dog"]})[0] == 0.0


def test_cider_takes_the_table_that_its_warning_names() -> None:
    score, each = Cider(df="coco-val2014").compute_score({1: ["a dog runs on grass"]}, {1: ["a dog runs on grass"]})
    assert score == each[0] == pytest.approx(10.0)
    assert (
        compute_score(GTS, RES, "cider_d(df=coco-val2014)")[0] == CiderD(df="coco-val2014").compute_score(GTS, RES)[0]
    )


def test_cider_with_the_frequencies_of_other_references() -> None:
    train = {i: [f"a dog number {i}", "a dog"] for i in range(9)} | {9: ["two birds fly"]}
    counts: dict[tuple[str, ...], float] = defaultdict(float)
    for references in train.values():
        for gram in {
            tuple(t.split()[i : i + n]) for t in references for n in range(1, 5) for i in range(len(t.split()) - n + 1)
        }:
            counts[gram] += 1
    found = Cider(train).compute_score(GTS, RES)[1]
    np.testing.assert_allclose(found, original_cider(counts, len(train), GTS, RES), rtol=0, atol=1e-12)


def test_pickled_frequencies_in_their_usual_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = {("a",): 9.0, ("dog",): 4.0, ("runs",): 3.0, ("a", "dog"): 3.0, ("dog", "runs"): 2.0, ("cat",): 5.0}
    (tmp_path / "data").mkdir()
    pickled = pickle.dumps({"document_frequency": defaultdict(float, counts), "ref_len": 12}, 2)
    (tmp_path / "data" / "coco-train-words.p").write_bytes(pickled)
    monkeypatch.chdir(tmp_path)
    listed = [{"image_id": key, "caption": caption} for key, caption in RES.items()]
    expected = original_cider(counts, 12, {key: GTS[key] for key in RES}, RES)
    reward = CiderD(df="coco-train-words", n=2)
    np.testing.assert_allclose(reward.compute_score(GTS, listed)[1], expected, rtol=0, atol=1e-12)
    (tmp_path / "data" / "coco-train-words.p").unlink()  # it was read already
    np.testing.assert_allclose(reward.compute_score(GTS, listed)[1], expected, rtol=0, atol=1e-12)
    with pytest.raises(CapevalError, match="unknown document-frequency table 'coco-train-words'"):
        CiderD(df="coco-train-words")


def original_cider(counts: dict[Any, float], images: int, gts: Any, res: Any) -> list[float]:
    """The original's scorer with frequencies given, as programs that train with it have it."""
    scorer = pytest.importorskip("pycocoevalcap.cider.cider_scorer").CiderScorer
    n = max(map(len, counts))

    class Given(scorer):  # type: ignore[misc, valid-type]
        ref_len = property(lambda self: np.log(float(images)), lambda self, value: None)

    given = Given(n=4)
    for key in gts:
        given += (res[key][0], gts[key])
    given.document_frequency = defaultdict(float, counts)
    if n < 4:  # the original cooks four orders whatever it is asked for
        given.n = n
        for each in [*given.ctest, *(ref for refs in given.crefs for ref in refs)]:
            for gram in [gram for gram in each if len(gram) > n]:
                del each[gram]
    scores: list[float] = given.compute_cider()
    return scores


PARSES = {
    "a red car": [["car", "red"], ["car"]],
    "two red bikes": [["bike", "red"], ["bike", "two"], ["bike"]],
    "sky": [],
    "a car": [["car"]],
}


def test_spice_gives_one_dict_an_image(tmp_path: Path) -> None:
    path = tmp_path / "parses.jsonl"
    path.write_text("".join(json.dumps({"caption": c, "tuples": t}) + "\n" for c, t in PARSES.items()))
    gts = {9: ["two red bikes"], 2: ["a red car"], 5: ["sky"]}
    res = {9: ["two red bikes"], 2: ["a car"], 5: ["a car"]}
    score, each = Spice(parses=str(path)).compute_score(gts, res)
    car, sky, bikes = each  # sorted by id, as the original's
    assert score == pytest.approx((2 / 3 + 0 + 1) / 3)
    assert car["All"] == pytest.approx(
        {"pr": 1.0, "re": 0.5, "f": 2 / 3, "tp": 1.0, "fp": 0.0, "fn": 1.0, "numImages": 1.0}
    )
    assert car["Color"]["f"] == 0.0
    assert math.isnan(car["Cardinality"]["f"])
    assert math.isnan(sky["Object"]["pr"])
    assert (sky["All"]["f"], sky["All"]["fp"]) == (0.0, 1.0)
    assert bikes["Cardinality"]["f"] == bikes["All"]["f"] == 1.0
    assert set(bikes) == {"All", "Object", "Attribute", "Relation", "Cardinality", "Color", "Size"}


def test_spice_equals_the_official_sub_scores(tmp_path: Path) -> None:
    with gzip.open(Path(__file__).parent / "golden" / "spice_small.jsonl.gz", "rt") as stream:
        lines = list(stream)
    official = [row for row in map(json.loads, lines) if "test" in row]
    assert len(official) == 60
    gts, res = {row["id"]: row["refs"] for row in official}, {row["id"]: [row["test"]] for row in official}
    (tmp_path / "parses.jsonl").write_text("".join(line for line in lines if "tuples" in json.loads(line)))
    _, found = Spice(parses=str(tmp_path / "parses.jsonl")).compute_score(gts, res)
    differing = 0
    for row, ours in zip(sorted(official, key=lambda row: row["id"]), found, strict=True):
        for kind in ours:
            theirs = {key: math.nan if value is None else value for key, value in row[kind].items()}
            same = all(ours[kind][key] == pytest.approx(theirs[key], abs=1e-9, nan_ok=True) for key in theirs)
            differing += not same
    assert differing == 0
