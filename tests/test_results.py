"""Results on disk: what was saved comes back, parts join, and nothing else is read."""

from __future__ import annotations

import json
import random
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import capeval
from capeval.corpus import Corpus
from capeval.errors import DataError, UnknownName
from capeval.evaluate import evaluate
from capeval.io.dftable import write_table
from capeval.metrics.cider import Cider, make_table
from capeval.results import Result, join, load, save
from capeval.run import Run
from capeval.types import Array, Dataset

METRICS = ["bleu_4", "rouge_l(beta=1.23456789)", "cider_d(df=coco-val2014, sigma=5.5)"]


@pytest.fixture
def result(small: Dataset) -> Result:
    return evaluate(small, METRICS)


@pytest.fixture
def saved(result: Result, tmp_path: Path) -> Path:
    save(result, tmp_path / "part.npz")
    return tmp_path / "part.npz"


def test_round_trip(result: Result, saved: Path) -> None:
    again = load(saved)
    assert again.scores == result.scores
    assert again.signatures == result.signatures
    assert list(again.records()) == list(result.records())
    assert again.intervals(resamples=20) == result.intervals(resamples=20)


def test_join(result: Result, small: Dataset) -> None:
    parts = [evaluate(small[begin:end], METRICS) for begin, end in ((0, 1), (1, 7), (7, 12))]
    joined = join(parts)
    assert joined.scores == pytest.approx(result.scores, abs=1e-12)
    assert joined.signatures == result.signatures
    assert joined.ids == result.ids
    assert join([result]).scores == result.scores


def test_parts_that_do_not_fit_together(small: Dataset) -> None:
    first = evaluate(small[:6], ["bleu"])
    with pytest.raises(DataError, match="scored differently"):
        join([first, evaluate(small[6:], ["bleu_1"])])
    with pytest.raises(DataError, match="scored differently"):
        join([first, evaluate(small[6:], ["bleu"], Run("none"))])
    with pytest.raises(DataError, match=r"2 captions in several parts\..*'table-one', 'snow-one'"):
        join([first, evaluate(small[4:], ["bleu"])])
    with pytest.raises(DataError, match="no results"):
        join([])


def test_one_caption_of_two_systems_is_no_repeat(small: Dataset) -> None:
    rows = [{"image_id": 1, "caption": "a dog", "system": name} for name in ("a", "b")]
    parts = [capeval.score([row], {1: ["a dog"]}, ["rouge"]) for row in rows]
    assert list(join(parts).by_system()) == ["a", "b"]


def test_cider_over_parts_names_the_remedy(small: Dataset) -> None:
    parts = [evaluate(part, ["cider_d"]) for part in (small[:6], small[6:])]
    with pytest.raises(DataError, match=r"cannot be joined.*cider_d\(df=coco-val2014\)"):
        join(parts)
    assert join(parts[:1]).scores == parts[0].scores


def test_a_table_that_changed_in_between_leaves_the_signature(small: Dataset, tmp_path: Path) -> None:
    table = tmp_path / "own.df"
    write_table(table, make_table(small.reference_sets))
    expression = f"cider(df={table})"
    first, kept = (evaluate(small[:6], [expression]) for _ in range(2))
    signature = first.signatures[expression]
    save(kept, tmp_path / "part.npz")
    write_table(table, make_table(small.reference_sets[:3]))
    assert kept.signatures[expression] == signature, "read for the first time after the table was overwritten"
    assert load(tmp_path / "part.npz").signatures[expression] == signature
    after = evaluate(small[6:], [expression])
    with pytest.raises(DataError, match="different tables"):
        join([kept, after])


def test_a_table_that_changes_while_it_is_used_is_noticed(small: Dataset, tmp_path: Path) -> None:
    table = tmp_path / "own.df"
    write_table(table, make_table(small.reference_sets))

    class Overwritten(Cider):
        def stats(self, corpus: Corpus) -> Array:
            found = super().stats(corpus)
            write_table(table, make_table(small.reference_sets[:3]))
            return found

    with pytest.raises(DataError, match="changed while it was scoring"):
        evaluate(small, [Overwritten(df=str(table))])


def test_the_version_that_scored_stays_in_the_signature(saved: Path) -> None:
    forge(saved, lambda meta: meta.update(version="0.0.7"))
    assert all(text.endswith("|capeval:0.0.7") for text in load(saved).signatures.values())


def test_a_metric_that_changed_in_between_is_noticed(saved: Path) -> None:
    forge(saved, lambda meta: meta["metrics"][0].update(revision=0))
    with pytest.raises(DataError, match="bleu has changed since"):
        load(saved)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        load(tmp_path / "none.npz")
    with pytest.raises(DataError, match="no such file"):
        load(tmp_path)
    with pytest.raises(DataError, match="cannot be written"):
        save(capeval.score(["a"], [["a"]], ["bleu"]), tmp_path / "missing" / "part.npz")


@pytest.mark.parametrize("contents", [b"", b"PK", b"PK\x05\x06" + bytes(18), b"[]", bytes(1000)])
def test_a_foreign_file(tmp_path: Path, contents: bytes) -> None:
    (tmp_path / "x.npz").write_bytes(contents)
    with pytest.raises(DataError, match="not a saved result"):
        load(tmp_path / "x.npz")


def test_an_array_that_is_no_archive(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros(3))
    with pytest.raises(DataError, match="not a saved result"):
        load(tmp_path / "x.npy")


def test_truncated_files_are_refused(saved: Path) -> None:
    whole = saved.read_bytes()
    for length in range(0, len(whole), 7):
        saved.write_bytes(whole[:length])
        with pytest.raises(DataError):
            load(saved)


def test_a_damaged_bit_never_changes_a_score(result: Result, saved: Path) -> None:
    """It is an error, or it is in a place that means nothing, such as a date."""
    whole, records = saved.read_bytes(), list(result.records())
    refused = 0
    bits = random.Random(0).sample(range(8 * len(whole)), 1500)
    for bit in bits:
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        saved.write_bytes(damaged)
        try:
            again = load(saved)
        except (DataError, UnknownName):
            refused += 1
            continue
        assert list(again.records()) == records
    assert refused > len(bits) / 2


def test_pickles_are_refused_unopened(saved: Path, tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> Any:
            return (Path.touch, (tmp_path / "opened",))

    with np.load(saved) as archive:
        arrays = dict(archive)
    arrays["stats_0"] = np.array([Trap()], dtype=object)
    np.savez(saved, allow_pickle=True, **arrays)
    with pytest.raises(DataError, match="not a saved result"):
        load(saved)
    assert not (tmp_path / "opened").exists()


def forge(path: Path, change: Callable[[Any], object]) -> None:
    """Changes what the file says about itself, keeping it whole."""
    with np.load(path) as archive:
        arrays = dict(archive)
    meta = json.loads(arrays["meta"].tobytes())
    change(meta)
    np.savez(path, **arrays | {"meta": np.frombuffer(json.dumps(meta).encode(), np.uint8)})


@pytest.mark.parametrize(
    "change",
    [
        lambda meta: meta.update(format=99),
        lambda meta: meta.pop("ids"),
        lambda meta: meta.update(ids=meta["ids"][1:]),
        lambda meta: meta.update(candidates=[1] * 12),
        lambda meta: meta.update(metrics=[{}]),
        lambda meta: meta.update(metrics=7),
        lambda meta: meta["metrics"][0].update(names=["rouge_l"]),
        lambda meta: meta["metrics"].append(meta["metrics"][0]),
        lambda meta: meta["metrics"][0].update(expression=3),
    ],
)
def test_forged_facts(saved: Path, change: Callable[[Any], object]) -> None:
    forge(saved, change)
    with pytest.raises(DataError, match=r"part\.npz: not a saved result"):
        load(saved)


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("stats_0", np.zeros((12, 10), np.float32)),
        ("stats_0", np.zeros(12)),
        ("stats_1", np.zeros((11, 2))),
        ("reference_counts", np.zeros(12)),
        ("reference_hashes", np.zeros(3, np.uint64)),
        ("meta", np.zeros(4, np.uint8)),
    ],
)
def test_forged_arrays(saved: Path, name: str, array: Any) -> None:
    with np.load(saved) as archive:
        arrays = dict(archive)
    np.savez(saved, **arrays | {name: array})
    with pytest.raises(DataError, match="not a saved result"):
        load(saved)


def test_an_archive_without_rows_is_refused(saved: Path) -> None:
    with np.load(saved) as archive:
        arrays = {name: array if name == "meta" else array[:0] for name, array in archive.items()}
    np.savez(saved, **arrays)
    forge(saved, lambda meta: meta.update({name: [] for name in ("ids", "images", "candidates", "systems")}))
    with pytest.raises(DataError, match="not a saved result"):
        load(saved)


def test_the_archive_holds_no_pickles(saved: Path) -> None:
    with zipfile.ZipFile(saved) as archive:
        for name in archive.namelist():
            assert b"|O" not in archive.read(name)[:200]
