"""Benchmarks that are read from JSONL: on tiny files, and against the published figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from capeval.bench import Pairs, Ratings, Settings, benchmarks, load, run
from capeval.bench.benchmark import coco_picture
from capeval.cli import cli
from capeval.documents import BenchDocument, as_dict, decode_as
from capeval.errors import CapevalError, DataError, Unavailable, UnknownName
from capeval.scene.official.grammar import grammar_path
from capeval.types import Array, Dataset

QUICK = Settings(resamples=20)
STATISTICS = ("kendall_b", "kendall_c", "spearman", "pearson")


def document(name: str, metrics: Any, **options: Any) -> dict[str, Any]:
    """As the command line prints it, where only declared fields are left."""
    found = run(name, metrics, settings=QUICK, **options).to_dict()
    return as_dict(decode_as(BenchDocument, found))


def ratings(name: str, root: Path, variant: str | None = None, human: str | None = None) -> Ratings:
    found = load(name, root, variant, human=human)
    assert isinstance(found, Ratings)
    return found


def pairs(name: str, root: Path) -> Pairs:
    found = load(name, root)
    assert isinstance(found, Pairs)
    return found


def length(dataset: Dataset) -> Array:
    return np.array([len(text) for text in dataset.candidates], float)


def test_thumb_without_and_with_the_captions_of_people(judgements: Path) -> None:
    machines, everybody = (ratings("thumb", judgements, part) for part in ("machines", "all"))
    assert (machines.rows, everybody.rows) == (8, 10)
    assert "Human" not in machines.dataset.systems
    assert machines.main == "pearson"
    assert machines.human[:4, 0].tolist() == [4, 3, 2, 1]
    found = document("thumb", "bleu_1", data=judgements)
    assert [row["part"] for row in found["metrics"]] == ["machines", "all"]
    assert all(row[key].keys() >= {"value", "low", "high"} for row in found["metrics"] for key in STATISTICS)


def test_another_judgement_can_be_chosen(judgements: Path) -> None:
    assert ratings("thumb", judgements, human="total").human.tolist() == ratings("thumb", judgements).human.tolist()
    assert ratings("thumb", judgements, human="precision").human[:3, 0].tolist() == [3, 4, 5]
    found = document("thumb", "bleu_1", data=judgements, human="precision")
    assert found["human"] == "precision"
    total = document("thumb", "bleu_1", data=judgements)
    assert found["metrics"][0]["pearson"]["value"] != total["metrics"][0]["pearson"]["value"]
    with pytest.raises(UnknownName, match="precision"):
        load("thumb", judgements, human="precison")
    with pytest.raises(CapevalError, match="in one way only: there is no 'precision'"):
        load("sugarcrepe", judgements, human="precision")


def test_systems_are_compared_by_their_scores_together(judgements: Path) -> None:
    machines, everybody = document("thumb", ["bleu_1", length], data=judgements)["metrics"][1::2]
    assert machines["metric"] == "length"
    assert (machines["system_level"]["systems"], everybody["system_level"]["systems"]) == (4, 5)
    # The mean length of each system's captions against totals of 4, 3, 2, 1.
    expected = np.corrcoef([11, 14, 17, 18], [4, 3, 2, 1])[0, 1]
    assert machines["system_level"]["pearson"] == pytest.approx(expected)
    assert machines["system_level"]["kendall_b"] == -1


def test_a_metric_without_scores_for_a_system_has_no_figure_of_systems(judgements: Path) -> None:
    def no_up_down(dataset: Dataset) -> Array:
        return np.where(np.array(dataset.systems) == "Up-Down", np.nan, length(dataset))

    assert "system_level" not in run("thumb", no_up_down, data=judgements, settings=QUICK).to_dict()["metrics"][0]


def test_capeval1k(judgements: Path) -> None:
    found = ratings("capeval1k", judgements)
    assert found.main == "kendall_b"
    assert found.human[:2, 0].tolist() == [1, 0.8]


def test_the_mean_of_pairs_is_over_all_rows(judgements: Path) -> None:
    """Three pairs of one kind are right, the one of another is wrong."""
    order = {"Many": ("long text", "short"), "few": ("short", "long text")}
    lines = [
        json.dumps({"id": i, "kind": kind, "positive": order[kind][0], "negative": order[kind][1]})
        for i, kind in enumerate(["Many", "Many", "Many", "few"])
    ]
    (judgements / "mine.jsonl").write_text("\n".join(lines))
    (row,) = document(str(judgements / "mine.jsonl"), length)["metrics"]
    assert row["mean"]["value"] == 75
    assert (row["many"]["value"], row["few"]["value"]) == (100, 0)
    assert (row["mean"]["n"], row["many"]["n"], row["few"]["n"]) == (4, 3, 1)
    assert row["worst_kind"] == "few"


def test_kinds_without_references_are_for_metrics_that_need_none(judgements: Path) -> None:
    by_reference, free = document("valse", ["rouge_l", length], data=judgements)["metrics"]
    assert (by_reference["rows"], by_reference["left_out"]) == (2, 2)
    assert (by_reference["existence"]["value"], by_reference["existence"]["n"]) == (None, 0)
    assert by_reference["mean"]["value"] == by_reference["foil-it"]["value"] == 100
    assert by_reference.get("worst_kind") is None  # one kind alone is neither best nor worst
    assert (free["rows"], free["left_out"]) == (4, 0)
    assert free["existence"]["value"] == 50  # both captions have the same length
    assert free["ties"] == 4


def test_document_frequencies_are_of_the_rows_with_references(judgements: Path) -> None:
    rows = [row for row in load("valse", judgements).captions() if row.references]
    alone = run("valse", "cider_d", data=judgements, settings=QUICK).parts[0].scores["cider_d"][0]
    assert np.isfinite(alone).tolist() == [True] * len(rows) + [False] * 4


def test_without_any_references_it_is_said_what_is_missing(judgements: Path) -> None:
    (judgements / "mine.jsonl").write_text(json.dumps({"id": 1, "positive": "a", "negative": "b"}))
    with pytest.raises(Unavailable, match="compares with references"):
        run(str(judgements / "mine.jsonl"), "bleu_1", settings=QUICK)


def test_negclip_is_for_fitting(judgements: Path) -> None:
    assert benchmarks()["negclip"].purpose == "fitting"
    found = load("negclip", judgements)
    assert isinstance(found, Pairs)
    assert (found.ids, found.categories) == (["negclip-1-0"], ["swap"])


def test_cxc_is_for_fitting(judgements: Path) -> None:
    assert benchmarks()["cxc"].purpose == "fitting"
    assert {each.purpose for name, each in benchmarks().items() if name in ("thumb", "valse", "sugarcrepe")} == {"test"}
    sits, sts = (ratings("cxc", judgements, part) for part in ("sits", "sts"))
    assert sits.human[:, 0].tolist() == sts.human[:, 0].tolist() == [0, 1, 2, 3, 4]
    assert sits.dataset.images[1] == "COCO_val2014_000000000001.jpg"
    assert sts.dataset.images[1] == "sts/1"  # no picture: two captions are compared
    assert sts.dataset[0].references == ("a dog",)


def write_cxc_test(root: Path, sits: str, sts: str) -> None:
    captions = {11: (1, "a dog runs"), 12: (1, "the dog "), 13: (1, "a brown dog"), 21: (2, "a cat")}
    annotations = [{"id": n, "image_id": image, "caption": text} for n, (image, text) in captions.items()]
    for folder in ("coco", "cxc"):
        (root / folder).mkdir(exist_ok=True)
    (root / "coco/captions_val2014.json").write_text(json.dumps({"annotations": annotations}))
    (root / "cxc/sits_test.csv").write_text("caption,image,agg_score,sampling_method\n" + sits)
    (root / "cxc/sts_test.csv").write_text("caption1,caption2,agg_score,sampling_method\n" + sts)


def test_cxc_reads_the_published_test_files(tmp_path: Path) -> None:
    name = "COCO_val2014:sentid:"
    image = "COCO_val2014_000000000001.jpg"
    sits = f"{name}12,{image},4.5,c2i_original\n{name}21,{image},0.2,c2i_intrasim\n"
    write_cxc_test(tmp_path, sits, f"{name}11,{name}21,1.5,c2c_isim\n")
    fits = ratings("cxc", tmp_path, "sits-test")
    assert fits.dataset.images == [image, image]
    assert fits.dataset[0].candidate == "the dog"
    assert fits.dataset[0].references == ("a dog runs", "a brown dog")
    assert fits.dataset[1].references == ("a dog runs", "the dog", "a brown dog")
    assert fits.human[:, 0].tolist() == [4.5, 0.2]
    alike = ratings("cxc", tmp_path, "sts-test")
    assert (alike.dataset[0].candidate, alike.dataset[0].references) == ("a dog runs", ("a cat",))
    assert alike.dataset.images == ["sts/1"]
    for kind in ("sits", "sts"):
        (tmp_path / f"cxc/{kind}_test.csv").rename(tmp_path / f"cxc/{kind}_val.csv")
    assert ratings("cxc", tmp_path, "sits-val").dataset.ids == ["sits-val-1", "sits-val-2"]
    assert ratings("cxc", tmp_path, "sts-val").human[:, 0].tolist() == [1.5]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("COCO_val2014:sentid:99,COCO_val2014:sentid:11,1,x\n", "line 2: coco/captions_val2014.json does not have 99"),
        ("99,COCO_val2014:sentid:11,1,x\n", "line 2: not laid out"),
        ("COCO_val2014:sentid:11,COCO_val2014:sentid:12,high,x\n", "line 2: not laid out"),
        ("COCO_val2014:sentid:11,COCO_val2014:sentid:12\n", "line 2: 2 cells where 4"),
    ],
)
def test_wrong_lines_of_the_test_files_are_told(tmp_path: Path, line: str, message: str) -> None:
    write_cxc_test(tmp_path, "", line)
    with pytest.raises(DataError, match=message):
        load("cxc", tmp_path, "sts-test")


def test_pictures_are_found_by_the_number_of_the_image(tmp_path: Path) -> None:
    for name in ("composite_coco/000000000001.webp", "val2014/COCO_val2014_000000000002.jpg", "flickr8k/33_ab.webp",
                 "composite_flickr30k/44.webp", "flickr30k/55.jpg", "valse/v7w_5.jpg"):  # fmt: skip
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert coco_picture(tmp_path, "COCO_val2014_000000000001.jpg") == tmp_path / "composite_coco/000000000001.webp"
    assert coco_picture(tmp_path, "000000000002.jpg") == tmp_path / "val2014/COCO_val2014_000000000002.jpg"
    # The numbers of other data sets are not COCO's.
    assert coco_picture(tmp_path, "VisualDialog_val2018_000000000001.jpg") is None
    assert coco_picture(tmp_path, "COCO_val2014_000000000003.jpg") is None
    corrected = benchmarks()["reformulations"].pictures
    assert corrected(tmp_path, "33.jpg") == tmp_path / "flickr8k/33_ab.webp"
    assert corrected(tmp_path, "44.jpg") == tmp_path / "composite_flickr30k/44.webp"
    assert corrected(tmp_path, "55.jpg") == tmp_path / "flickr30k/55.jpg"
    assert corrected(tmp_path, "3.jpg") is None
    assert benchmarks()["valse"].pictures(tmp_path, "v7w_5.jpg") == tmp_path / "valse/v7w_5.jpg"


def test_composite_takes_its_own_pictures_first(tmp_path: Path) -> None:
    def put(*names: str) -> None:
        for name in names:
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).touch()

    found = benchmarks()["composite"].pictures
    put("val2014/COCO_val2014_000000000001.jpg", "flickr30k/44.jpg", "flickr8k/33_ab.jpg")
    assert found(tmp_path, "coco/000000000001") == tmp_path / "val2014/COCO_val2014_000000000001.jpg"
    assert found(tmp_path, "30k/0044") == tmp_path / "flickr30k/44.jpg"
    assert found(tmp_path, "8k/33_ab") == tmp_path / "flickr8k/33_ab.jpg"
    put("composite_coco/000000000001.webp", "composite_flickr30k/44.webp")
    assert found(tmp_path, "coco/000000000001") == tmp_path / "composite_coco/000000000001.webp"
    assert found(tmp_path, "30k/0044") == tmp_path / "composite_flickr30k/44.webp"
    assert found(tmp_path, "coco/000000000002") is None


def test_the_table_shows_kinds_and_systems(judgements: Path) -> None:
    shown = CliRunner().invoke(cli, ["bench", "run", "sugarcrepe", "-m", "bleu_1", "--data", str(judgements)])
    assert shown.exit_code == 0
    assert "worst_kind" in shown.stdout
    told = CliRunner().invoke(cli, ["bench", "run", "thumb", "-m", "bleu_1", "--human", "recall", "--data",
                                    str(judgements)])  # fmt: skip
    assert "systems pearson" in told.stdout
    unreferenced = CliRunner().invoke(cli, ["bench", "run", "valse", "-m", "bleu_1", "--data", str(judgements)])
    assert "foil-it" in unreferenced.stdout
    assert "existence" not in unreferenced.stdout  # no metric could score any
    assert "judged by recall" in told.stderr


# Against the data that is not part of the repository.

FIGURES = {
    "thumb": ("pearson", .003, {"cider_d(df=coco-val2014)": .330, "meteor": .308, "rouge_l": .315,
                                "bleu_4(sentence=true)": .235, "spice": .289}),
    "capeval1k": ("kendall_b", .0006, {"cider_d(df=coco-val2014)": .314, "meteor": .309, "spice_fast": .321,
                                       "spider(df=coco-val2014)": .329}),
    "sugarcrepe": ("mean", .06, {"cider_d(df=coco-val2014)": 87.8, "spice_fast": 76.2, "meteor": 77.3}),
    "valse": ("foil-it", .06, {"cider_d(df=coco-val2014)": 92.9}),
    "reformulations": ("mean", .06, {"meteor": 67.7, "cider_d(df=coco-val2014)": 55.8, "spice_fast": 71.6}),
}  # fmt: skip
ROWS = {"thumb": 2000, "capeval1k": 1000, "sugarcrepe": 7511, "valse": 7702, "reformulations": 4344}


@pytest.mark.parametrize("name", FIGURES)
def test_figures(name: str, shared: Path) -> None:
    key, tolerance, expected = FIGURES[name]
    wanted = [each for each in expected if grammar_path().is_file() or each.split("(")[0] not in ("spice", "spider")]
    found = run(name, wanted, data=shared, settings=Settings(resamples=5))
    assert found.rows == ROWS[name]
    rows = {row["metric"]: row for row in reversed(found.to_dict()["metrics"])}  # of parts the first
    assert {each: rows[each][key]["value"] for each in wanted} == {
        each: pytest.approx(expected[each], abs=tolerance) for each in wanted
    }


def test_kinds_of_the_published_pairs(shared: Path) -> None:
    assert len(set(pairs("sugarcrepe", shared).categories)) == 7
    valse = pairs("valse", shared)
    assert len(set(valse.categories)) == 11
    referenced = {kind for kind, references in zip(valse.categories, valse.references) if references}
    assert referenced == {"foil-it", "plurals", "relations"}
    assert sum(map(bool, valse.references)) == 2329
    assert ratings("cxc", shared, "sits").rows == 30887
    assert ratings("cxc", shared, "sts").rows == 30482
