"""SPIDEr is the mean of SPICE and CIDEr-D."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import numpy as np
import pytest

from capeval.corpus import Corpus
from capeval.evaluate import evaluate
from capeval.io.dftable import write_table
from capeval.metrics import spice
from capeval.metrics.cider import CiderD, make_table
from capeval.metrics.spice import Spice
from capeval.metrics.spider import Spider
from capeval.registry import complete
from capeval.run import Run
from capeval.types import Dataset, Sample

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "spice_small.jsonl.gz"


@pytest.fixture
def sample(tmp_path: Path) -> tuple[Dataset, str]:
    lines = [json.loads(line) for line in gzip.decompress(GOLDEN.read_bytes()).splitlines()]
    path = tmp_path / "tuples.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines if "tuples" in line), encoding="utf-8")
    rows = [line for line in lines if "test" in line]
    samples = [Sample(str(i), str(i), row["test"], tuple(row["refs"])) for i, row in enumerate(rows)]
    return Dataset.from_samples(samples), str(path)


def test_mean_of_both(sample: tuple[Dataset, str]) -> None:
    dataset, parses = sample
    result = evaluate(dataset, [Spider(parses=parses), Spice(parses=parses), CiderD()], Run("none"))
    spider, spice_scores, *_, cider = result.per_caption.values()
    np.testing.assert_allclose(spider, (spice_scores + cider) / 2, rtol=0, atol=1e-12)
    corpus = list(result.scores.values())
    assert corpus[0] == pytest.approx((corpus[1] + corpus[-1]) / 2, abs=1e-12)
    assert corpus[0] == pytest.approx(float(np.mean(spider)), abs=1e-12)
    assert corpus[0] > 0.1


def test_spice_is_computed_once(sample: tuple[Dataset, str], monkeypatch: pytest.MonkeyPatch) -> None:
    dataset, parses = sample
    calls: list[str] = []
    original = spice.tuples_from_file

    def counted(path: str, captions: list[str]) -> list[list[spice.SceneTuple]]:
        calls.append(path)
        return original(path, captions)

    monkeypatch.setattr(spice, "tuples_from_file", counted)
    corpus = Corpus(dataset, Run("none"))
    corpus.stats(Spice(parses=parses))
    corpus.stats(complete(Spider(parses=parses)))
    assert calls == [parses]


def test_with_a_table_of_document_frequencies_parts_can_be_joined(sample: tuple[Dataset, str], tmp_path: Path) -> None:
    dataset, parses = sample
    assert not complete(Spider(parses=parses)).joinable()
    table = tmp_path / "own.df"
    write_table(table, make_table(dataset.reference_sets, run=Run("none")))
    fixed = complete(Spider(parses=parses, df=str(table)))
    assert fixed.joinable()
    extras = dict(fixed.signature_extras(Run()))
    assert re.fullmatch(r"\[spice\(.*tuples: \w+; cider_d\(.*table: \w+\]", extras["parts"])
    whole = fixed.per_sample(fixed.stats(Corpus(dataset, Run("none"))))
    part = fixed.per_sample(fixed.stats(Corpus(dataset[:20], Run("none"))))
    np.testing.assert_allclose(part, whole[:20], rtol=0, atol=1e-12)
