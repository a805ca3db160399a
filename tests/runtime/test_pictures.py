"""Pictures on a data set: a metric that looks at them, from the first file to the last number."""

from __future__ import annotations

import json
import re
import sqlite3
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
import pytest

import capeval
from capeval import registry
from capeval.bench.scoring import Scorer
from capeval.corpus import Corpus
from capeval.errors import CapevalError, DataError, Unavailable
from capeval.evaluate import evaluate
from capeval.io.locks import locked
from capeval.results import join, load, save
from capeval.run import Run
from capeval.runtime import extract as extracting
from capeval.runtime.pictures import PictureFiles
from capeval.types import Array, Dataset, Info, Metric, Sample

pytest.importorskip("onnxruntime")
Image = pytest.importorskip("PIL.Image")


@dataclass(frozen=True)
class Brightness(Metric):
    """The length of the picture's vector: a number that only the picture decides."""

    info: ClassVar[Info] = Info(
        "brightness",
        ("brightness",),
        "how long the vector of a picture is",
        "Nobody 2020",
        (0, 1e9),
        needs=("pictures",),
    )

    def stats(self, corpus: Corpus) -> Array:
        return np.linalg.norm(corpus.vectors(), axis=1)[corpus.image_number][:, None].astype(np.float64)

    def per_sample(self, stats: Array) -> Array:
        return stats

    def hint_without_pictures(self) -> str:
        return "darkness needs none"


@dataclass(frozen=True)
class Width(Metric):
    """How many numbers the picture's vector has, by the encoder it knows."""

    known: str = ""

    info: ClassVar[Info] = Info("width", ("width",), "length of vectors", "Nobody 2020", (0, 1e9), needs=("pictures",))

    def encoders(self, run: Run) -> tuple[str, ...]:
        return (self.known,)

    def stats(self, corpus: Corpus) -> Array:
        regions = corpus.regions(0, 1, self.known)
        return np.full((len(corpus), 1), corpus.vectors(self.known).shape[1] + regions.shape[2] / 10_000)

    def per_sample(self, stats: Array) -> Array:
        return stats


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CAPEVAL_CACHE", str(tmp_path / "cache"))
    (tmp_path / "pictures").mkdir()
    for i in range(4):
        pixels = np.random.default_rng(i).integers(0, 256, (32, 48, 3)).astype(np.uint8)
        Image.fromarray(pixels).save(tmp_path / "pictures" / f"COCO_val2014_{i + 1:012}.png")
    return tmp_path / "pictures"


CANDIDATES = {"1": "a dog", "2": "a cat", "3": "two men", "4": "a boat"}
REFERENCES = {key: [f"{text} again", text] for key, text in CANDIDATES.items()}


def test_pictures_are_encoded_once_and_kept_by_content(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = capeval.score(CANDIDATES, REFERENCES, [Brightness(), "bleu_1"], images=folder)
    assert len(re.findall(r"\|pictures:dinov2-s/6df67597c042/[0-9a-f]{8}\|", first.signatures["brightness"])) == 1
    assert "pictures" not in first.signatures["bleu_1"]
    monkeypatch.setattr(extracting, "prepare", None)  # a picture that is decoded again fails
    (folder / "COCO_val2014_000000000001.png").rename(folder / "1.png")
    again = capeval.score(CANDIDATES, REFERENCES, [Brightness()], images=folder)
    assert again.per_caption["brightness"].tolist() == first.per_caption["brightness"].tolist()
    assert again.signatures["brightness"] == first.signatures["brightness"]
    assert len(set(again.per_caption["brightness"])) == 4


def test_each_metric_sees_by_the_encoder_it_knows(folder: Path, tmp_path: Path) -> None:
    lite0, dinov2 = "lite0/7878a0d1b80f", "dinov2-s/6df67597c042"
    metrics = [Width(lite0), Width(dinov2), Brightness()]
    found = capeval.score(CANDIDATES, None, metrics, images=folder)
    assert list(found.scores.values())[:2] == pytest.approx([1280.128, 768.0384])
    seen = [re.findall(r"\|pictures:([^|]+)/[0-9a-f]{8}\|", each) for each in found.signatures.values()]
    assert seen == [[lite0], [dinov2], [dinov2]]
    again = capeval.score(CANDIDATES, None, metrics[::-1], images=folder)
    assert again.signatures == found.signatures
    extracting.extract(extracting.find_pictures(folder), tmp_path / "x.features", encoder="lite0", regions=True)
    stored = capeval.score(CANDIDATES, None, [Width(dinov2)], features=tmp_path / "x.features")
    assert list(stored.scores.values()) == pytest.approx([1280.128]), "features are what they are"
    assert lite0 in next(iter(stored.signatures.values()))


def test_pictures_as_another_encoder_sees_them(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = PictureFiles(extracting.find_pictures(folder), encoder="lite0")
    other = files.by("dinov2-s/6df67597c042")
    assert (files.dim, files.region_dim, files.region_count) == (1280, 1280, 49)
    assert (other.dim, other.region_dim, other.region_count) == (768, 384, 64)
    assert (files.vectors([]).shape, other.regions([]).shape) == ((0, 1280), (0, 64, 384))
    assert other.by(files.encoder) is files
    assert files.by(other.encoder) is other
    assert files.contents(["1", "2"]) == other.contents(["1", "2"])
    for unknown in ("", "lite0/000000000000", "mine/1"):
        assert files.by(unknown) is files


def test_features_give_what_pictures_give(folder: Path, tmp_path: Path) -> None:
    extracting.extract(extracting.find_pictures(folder), tmp_path / "x.features", regions=True)
    by_pictures = capeval.score(CANDIDATES, None, [Brightness()], images=folder)
    by_features = capeval.score(CANDIDATES, None, [Brightness()], features=tmp_path / "x.features")
    assert by_pictures.to_dict() == by_features.to_dict()
    assert "refs:0" in by_features.signatures["brightness"]
    files = PictureFiles(extracting.find_pictures(folder))
    stored = capeval.io.features.open_features(tmp_path / "x.features")
    assert np.array_equal(files.regions(["2", "1"]), stored.regions(["2", "1"]))
    assert np.array_equal(files.boxes(["2"]), stored.boxes(["2"]))  # type: ignore[arg-type]
    with pytest.raises(CapevalError, match="not both"):
        capeval.score(CANDIDATES, None, [Brightness()], images=folder, features=tmp_path / "x.features")


def test_the_signature_tells_other_pictures(folder: Path, tmp_path: Path) -> None:
    def signature(**source: Any) -> str:
        return capeval.score(CANDIDATES, None, [Brightness()], **source).signatures["brightness"]

    by_pictures = signature(images=folder)
    one, other = folder / "COCO_val2014_000000000001.png", folder / "COCO_val2014_000000000002.png"
    data = one.read_bytes(), other.read_bytes()
    one.write_bytes(data[1])
    other.write_bytes(data[0])
    exchanged = signature(images=folder)
    assert exchanged != by_pictures, "the same pictures under exchanged names"
    one.write_bytes(data[1])
    other.write_bytes(data[1])
    assert signature(images=folder) not in (by_pictures, exchanged), "another picture, the same encoder"
    extracting.extract(extracting.find_pictures(folder), tmp_path / "x.features")
    assert signature(features=tmp_path / "x.features") == signature(images=folder)
    part = capeval.score(CANDIDATES, None, [Brightness()], images=folder).rows([2, 3])
    alone = {key: CANDIDATES[key] for key in ("3", "4")}
    assert part.signatures == capeval.score(alone, None, [Brightness()], images=folder).signatures


STORE = "cache/features/pictures.features"


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))


def test_vectors_and_regions_come_from_one_pass(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pictures = extracting.find_pictures(folder)
    PictureFiles(pictures).vectors(["1", "2"])
    monkeypatch.setattr(extracting, "prepare", None)  # a picture that is decoded again fails
    assert PictureFiles(pictures).regions(["2", "1"]).shape == (2, 64, 384)


def test_the_cache_is_kept_below_a_size(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pictures = extracting.find_pictures(folder)
    run = Run(feature_cache_bytes=450_000)  # three pictures with their regions
    first = PictureFiles(pictures, encoder="lite0", run=run).regions(["1", "2"])
    PictureFiles(pictures, encoder="lite0", run=run).regions(["3", "4"])
    kept = PictureFiles(pictures, encoder="lite0", run=run)
    with monkeypatch.context() as patch:
        patch.setattr(extracting, "prepare", None)
        assert kept.regions(["3", "4"]).shape == (2, 49, 1280)
        assert kept.vectors(["1", "2", "3", "4"]).shape == (4, 1280), "regions go first: they are the large ones"
        with pytest.raises(TypeError):
            kept.regions(["1"])
    assert np.array_equal(kept.regions(["1", "2"]), first), "what has gone is made again"
    assert (tmp_path / STORE).stat().st_size < 2 * 450_000


def test_a_run_keeps_its_own_pictures_whatever_their_size(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = PictureFiles(extracting.find_pictures(folder), run=Run(feature_cache_bytes=0))
    files.regions(["1", "2", "3"])
    files.regions(["4"])
    monkeypatch.setattr(extracting, "prepare", None)
    assert files.regions(["1", "2", "3", "4"]).shape == (4, 64, 384)


def test_a_picture_that_changes_meanwhile_is_told(folder: Path) -> None:
    files = PictureFiles(extracting.find_pictures(folder))
    files.contents(["1"])
    (folder / "COCO_val2014_000000000001.png").write_bytes((folder / "COCO_val2014_000000000002.png").read_bytes())
    with pytest.raises(DataError, match=r"000000000001\.png: the picture was changed"):
        files.vectors(["1"])


@pytest.mark.parametrize("damage", ["truncated", "a wrong number", "something else"])
def test_a_damaged_cache_is_set_aside_and_built_again(folder: Path, tmp_path: Path, notes: Any, damage: str) -> None:
    first = capeval.score(CANDIDATES, None, [Brightness()], images=folder)
    store = tmp_path / STORE
    for number in (1, 2):
        damaged = b"my thesis" if damage == "something else" else store.read_bytes()
        if damage == "truncated":
            damaged = damaged[:20_000]
        elif damage == "a wrong number":
            vector = PictureFiles(extracting.find_pictures(folder)).vectors(["3"])[0].astype("<f2").tobytes()
            damaged = damaged.replace(vector[:500], bytes(500))
            assert damaged != store.read_bytes()
        store.write_bytes(damaged)
        dataset = Dataset.from_samples([Sample(key, key, text) for key, text in CANDIDATES.items()])
        dataset.features = PictureFiles(extracting.find_pictures(folder), run=Run(progress=notes))
        assert evaluate(dataset, [Brightness()]).scores == first.scores
        assert f"damaged-{number}" in notes.messages[-1]
        assert len(notes.messages) == number
        assert store.with_name(f"{store.name}.damaged-{number}").read_bytes() == damaged


def test_a_cache_of_a_newer_format_is_refused_and_kept(folder: Path, tmp_path: Path) -> None:
    capeval.score(CANDIDATES, None, [Brightness()], images=folder)
    store = tmp_path / STORE
    with closing(sqlite3.connect(store)) as connection:
        connection.execute("PRAGMA user_version = 3")
    newer = store.read_bytes()
    with pytest.raises(DataError, match=r"format 3; this capeval reads format 2\. Update capeval"):
        capeval.score(CANDIDATES, None, [Brightness()], images=folder)
    assert store.read_bytes() == newer
    assert names_in(store.parent) == [store.name]


def test_a_damaged_cache_that_another_process_writes_is_left_to_it(folder: Path, tmp_path: Path) -> None:
    """It looks damaged only because its writer, who has the lock, is not done yet."""
    first = capeval.score(CANDIDATES, None, [Brightness()], images=folder)
    store = tmp_path / STORE
    whole = store.read_bytes()
    with ThreadPoolExecutor() as pool, locked(store):
        store.write_bytes(whole[:20_000])
        waiting = pool.submit(capeval.score, CANDIDATES, None, [Brightness()], images=folder)
        time.sleep(0.3)
        assert not waiting.done()
        assert store.stat().st_size == 20_000
        store.write_bytes(whole)
    assert waiting.result().scores == first.scores
    assert store.read_bytes() == whole
    assert names_in(store.parent) == [store.name]


def test_a_cache_that_cannot_be_written_names_the_variable(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file is in the way")
    with pytest.raises(DataError, match="CAPEVAL_CACHE"):
        capeval.score(CANDIDATES, None, [Brightness()], images=folder)


def test_without_pictures_the_error_says_what_to_pass() -> None:
    with pytest.raises(Unavailable, match=r"there are none.*darkness needs none.*`images`, or their `features`"):
        capeval.score(CANDIDATES, REFERENCES, [Brightness()])


def test_without_references_the_error_says_what_to_pass(folder: Path) -> None:
    with pytest.raises(
        Unavailable, match=r"bleu compares with references, and there are none\. Give them as `references`"
    ):
        capeval.score(CANDIDATES, None, ["bleu"], images=folder)


def test_images_without_a_picture_are_named(folder: Path) -> None:
    more = CANDIDATES | {f"x{i}": "a tree" for i in range(6)}
    with pytest.raises(DataError, match=r"6 images without a picture.*'x0'.*'x4' and 1 more"):
        capeval.score(more, None, [Brightness()], images=folder)


def test_a_bad_picture_is_named(folder: Path) -> None:
    (folder / "COCO_val2014_000000000002.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    with pytest.raises(DataError, match=r"COCO_val2014_000000000002\.png"):
        capeval.score(CANDIDATES, None, [Brightness()], images=folder)
    assert len(capeval.score({"1": "a dog"}, None, [Brightness()], images=folder)) == 1, "nobody asked for it"


def test_the_corpus_numbers_pictures(folder: Path) -> None:
    rows = [Sample(str(i), image, "a dog", ("a dog",)) for i, image in enumerate(["3", "1", "3", "2"])]
    dataset = Dataset.from_samples(rows)
    dataset.features = PictureFiles(extracting.find_pictures(folder))
    corpus = Corpus(dataset)
    assert corpus.images == ["3", "1", "2"]
    assert corpus.image_number.tolist() == [0, 1, 0, 2]
    assert corpus.vectors() is corpus.vectors()
    assert corpus.regions(1, 3).shape == (2, 64, 384)
    assert corpus.boxes(0, 1).shape == (1, 64, 4)  # type: ignore[union-attr]
    assert dataset.rows([1, 2]).features is dataset.features
    with pytest.raises(DataError, match="no pictures"):
        Corpus(Dataset.from_samples(rows)).vectors()


def test_parts_with_other_features_do_not_join(folder: Path, tmp_path: Path, looking: None) -> None:
    def part(key: str, name: str) -> None:
        result = capeval.score({key: "a dog"}, None, [Brightness()], images=folder)
        save(result, tmp_path / name)

    part("1", "a.npz")
    part("2", "b.npz")
    a, b = load(tmp_path / "a.npz"), load(tmp_path / "b.npz")
    assert [each.pictures for each in join([a, b]).scored] == ["dinov2-s/6df67597c042"]
    other = replace(b, scored=(replace(b.scored[0], pictures="other/1"),))
    with pytest.raises(DataError, match="same encoder"):
        join([a, other])


@pytest.fixture
def looking(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The metric in the registry, as if it were one of ours."""
    module = ModuleType("capeval.metrics.brightness")
    module.Brightness = Brightness  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(registry, "_module_names", lambda: ["bleu", "brightness"])
    caches = (registry.metric_classes, registry._scores)
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()


def test_benchmarks_leave_out_rows_without_a_picture(folder: Path, looking: None, notes: Any) -> None:
    pictures = {str(i + 1): folder / f"COCO_val2014_{i + 1:012}.png" for i in range(2)}
    dataset = Dataset.from_samples([Sample(key, key, text, (text,)) for key, text in CANDIDATES.items()])
    for metrics in (["bleu_1", "brightness"], None):
        scorer = Scorer.of(metrics, (), Run(progress=notes), PictureFiles(pictures), skip_missing_pictures=True)
        table = scorer.score(dataset)
        scores = table.per_caption
        assert np.isnan(scores["brightness"]).tolist() == [False, False, True, True]
        assert scores["bleu_1"].tolist() == pytest.approx([1, 1, 1, 1])
        assert {"brightness", "bleu_1"} <= set(table.signatures)
    assert not notes.messages
    assert "brightness" not in Scorer.of(None, run=Run(progress=notes)).score(dataset).per_caption
    assert "brightness is left out" in notes.messages[0]
    nothing = Scorer.of("brightness", pictures=PictureFiles({}), skip_missing_pictures=True)
    with pytest.raises(CapevalError, match="none of the images"):
        nothing.score(dataset)


def test_without_metrics_those_that_cannot_be_used_are_noted(folder: Path, looking: None, notes: Any) -> None:
    dataset = Dataset.from_samples([Sample("1", "1", "a dog", ("a dog",))])
    assert "brightness" not in evaluate(dataset, run=Run(progress=notes)).scores
    assert [text.split(":")[0] for text in notes.messages] == ["brightness is left out"]
    dataset.features = PictureFiles({})
    notes.messages.clear()
    assert "brightness" not in evaluate(dataset, run=Run(progress=notes)).scores
    assert notes.messages[0].startswith("brightness is left out: 1 image without a picture")
    bare = Dataset.from_samples([Sample("1", "1", "a dog")])
    with pytest.raises(CapevalError, match="no metric"):
        evaluate(bare)
    bare.features = PictureFiles(extracting.find_pictures(folder))
    assert list(evaluate(bare).scores) == ["brightness"]


def test_the_command_line(
    folder: Path, tmp_path: Path, looking: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from capeval.cli import main

    def run(*arguments: str) -> int:
        monkeypatch.setattr(sys, "argv", ["capeval", *arguments])
        try:
            main()
        except SystemExit as exit_:
            return int(exit_.code or 0)
        return 0

    (tmp_path / "c.json").write_text(json.dumps([{"image_id": int(k), "caption": v} for k, v in CANDIDATES.items()]))
    (tmp_path / "r.json").write_text(json.dumps(REFERENCES))
    base = ["score", str(tmp_path / "c.json"), "--format", "json"]
    assert run(*base, "-m", "brightness", "--images", str(folder)) == 0
    scores = json.loads(capsys.readouterr().out)["scores"]
    assert list(scores) == ["brightness"]
    assert run("features", str(folder), "-o", str(tmp_path / "f")) == 0
    capsys.readouterr()
    assert run(*base, "-r", str(tmp_path / "r.json"), "--features", str(tmp_path / "f")) == 0
    both = json.loads(capsys.readouterr().out)["scores"]
    assert both["brightness"] == scores["brightness"]
    assert "bleu_4" in both
    assert run(*base, "-m", "brightness", "-r", str(tmp_path / "r.json")) == 1
    assert "--images" in capsys.readouterr().err
    assert run(*base, "-m", "bleu", "--images", str(folder)) == 2
    assert "bleu cannot do without" in capsys.readouterr().err
    assert run(*base) == 2
    assert "Missing option '-r'" in capsys.readouterr().err
    assert run(*base, "-m", "brightness", "--images", str(folder), "--features", str(tmp_path / "f")) == 2
    assert run("list", "--format", "csv") == 0
    assert "pictures" in capsys.readouterr().out
