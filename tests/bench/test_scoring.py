"""One scorer for benchmarks and robustness."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import capeval
from capeval.bench.scoring import Scorer
from capeval.errors import CapevalError, DataError, Unavailable, UnknownName
from capeval.metrics.bleu import Bleu
from capeval.run import Run
from capeval.runtime.pictures import open_pictures
from capeval.types import Array, Dataset, Info, Metric


def length(dataset: Dataset) -> Array:
    return np.array([len(text) for text in dataset.candidates], float)


def some(dataset: Dataset) -> list[float]:
    return [float("nan"), 1.0, *[3.0] * (len(dataset) - 2)]


def test_expressions_and_functions_are_told_apart() -> None:
    scorer = Scorer.of(["bleu_1", length, Bleu()])
    assert scorer.expressions == ["bleu_1", Bleu()]
    assert scorer.functions == [length]
    assert Scorer.of("bleu_1").expressions == ["bleu_1"]
    assert Scorer.of(length).functions == [length]
    assert Scorer.of(None).expressions is None
    assert Scorer.of(None, ["scores.csv"]).expressions == []
    assert Scorer.of(()).is_empty
    assert not any(each.is_empty for each in (scorer, Scorer.of(None), Scorer.of((), ["scores.csv"])))
    with pytest.raises(CapevalError, match="not 3"):
        Scorer.of([3])  # type: ignore[list-item]
    with pytest.raises(UnknownName, match="metric"):
        Scorer.of("bleau")


def test_scores_of_some_captions_together(small: Dataset) -> None:
    table = Scorer.of(["bleu_4", length, some]).score(small)
    assert list(table.signatures) == list(table.per_caption) == ["bleu_4", "length", "some"]
    assert table.signatures["length"] == "length|function"
    rows = np.array([0, 1, 2])
    found = table.of_rows(rows)
    # BLEU of a corpus is not the mean over its captions; of a function there is nothing but the mean.
    assert (
        found["bleu_4"]
        == capeval.score(small.candidates[:3], [small[i].references for i in range(3)], ["bleu_4"]).scores["bleu_4"]
    )
    assert found["length"] == pytest.approx(length(small)[:3].mean())
    assert found["some"] == 2
    assert np.isnan([*table.of_rows(np.array([], np.intp)).values(), table.of_rows(rows[:1])["some"]]).all()


def test_names_are_taken_once(small: Dataset, tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text("id,length\n" + "".join(f"{name},1\n" for name in small.ids))
    with pytest.raises(CapevalError, match="two metrics are called 'length'"):
        Scorer.of([length, length]).score(small)
    with pytest.raises(DataError, match="have the name of others: length"):
        Scorer.of(length, [path]).score(small)
    with pytest.raises(DataError, match="have the name of others: length"):
        Scorer.of((), [path, path]).score(small)
    with pytest.raises(DataError, match="have the name of others: length"):
        Scorer.of((), [path]).score_from_files(small.ids, ["length"])
    assert Scorer.of((), [path]).score(small).signatures == {"length": "length|file:scores.csv"}


@dataclass(frozen=True)
class Looks(Metric):
    info: ClassVar[Info] = Info("looks", ("looks",), "looks at the picture", "nobody", needs=("pictures",))


def test_where_no_picture_is_there(small: Dataset, tmp_path: Path, notes: Any) -> None:
    np.savez(tmp_path / "f.npz", ids=["elsewhere"], vectors=np.ones((1, 2), np.float32))
    pictures = open_pictures(None, tmp_path / "f.npz", Run())
    scorer = Scorer.of(["bleu_1", Looks()], run=Run(progress=notes), pictures=pictures, skip_missing_pictures=True)
    with pytest.raises(Unavailable, match="none of the images has its picture there"):
        scorer.score(small)
    assert list(replace(scorer, lenient=True).score(small).signatures) == ["bleu_1"]
    assert any(message.startswith("looks is left out: none of the images") for message in notes.messages)
    with pytest.raises(Unavailable, match="none of the metrics can be used"):
        replace(scorer, expressions=[Looks()], lenient=True).score(small)


@pytest.mark.parametrize("room", ["bench", "perturb"])
def test_no_message_names_an_option_of_the_command_line(room: str) -> None:
    """Python has arguments, not options: what the library says must help there too."""
    option = re.compile(r"(?<![\w-])--?[a-z][a-z-]*\b")
    for path in (Path(capeval.__file__).parent / room).rglob("*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told:
                assert not option.search(node.value), (path.name, node.value)
