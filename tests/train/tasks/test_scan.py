"""SCAN learns which pictures and captions belong together, and says the same in torch and in ONNX Runtime."""

# ruff: noqa: E402  (what needs torch is imported after asking whether it is there)

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")
pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from capeval.errors import DataError
from capeval.io.features import open_features
from capeval.models.scan import Scan, ScanShape
from capeval.runtime.scan import open_scan
from capeval.train.checkpoint import BEST, load_weights
from capeval.train.loop import train
from capeval.train.task import Inputs
from capeval.train.tasks.scan.config import Config
from capeval.train.tasks.scan.task import ScanTask, recalls

WORDS = ["dog", "cat", "sofa", "ball", "park", "plane", "man", "street"]
DIM = 12


def picture(*things: int) -> Any:
    """Regions: one for each thing it shows, and three of background."""
    random = np.random.default_rng(sum(1 << each for each in things))
    meanings = np.random.default_rng(7).standard_normal((len(WORDS), DIM))
    background = 0.3 * random.standard_normal((3, DIM))
    return np.concatenate([meanings[list(things)], background]).astype(np.float32)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A picture for each pair of things; captions name both."""
    place = tmp_path_factory.mktemp("scan")
    pairs = [(a, b) for a in range(len(WORDS)) for b in range(a)]
    names = [f"p{a}{b}" for a, b in pairs]
    texts = {
        name: [f"a {WORDS[a]} and a {WORDS[b]}", f"{WORDS[b]} with a {WORDS[a]}"] for name, (a, b) in zip(names, pairs)
    }
    regions = np.stack([picture(*pair) for pair in pairs])
    np.savez(place / "f.npz", ids=np.array(names), vectors=regions.mean(1), regions=regions)
    (place / "train.json").write_text(json.dumps({name: texts[name] for name in names[6:]}))
    (place / "val.json").write_text(json.dumps({name: texts[name] for name in names[:6]}))
    return place


def config(folder: Path, **changes: Any) -> Config:
    files = {"sources": (str(folder / "train.json"),), "validation": (str(folder / "val.json"),)}
    sizes = {
        "minimum": 1,
        "width": 16,
        "batch": 11,
        "epochs": 30,
        "warmup": 10,
        "near": 4,
        "hidden": 0,
        "context": False,
    }
    rates = {"learning_rate": 0.02, "decay": 0.97, "dropout": 0.0, "average": 0.0}
    return Config(**{**files, **sizes, **rates, **changes})


@pytest.fixture(scope="module", params=["i2t-contrast", "t2i-contrast", "i2t-hinge", "t2i-hinge", "i2t-hinge-context"])
def trained(request: pytest.FixtureRequest, folder: Path) -> Path:
    direction, loss, *context = request.param.split("-")
    changes = {"context": True, "hidden": 6} if context else {}
    task = ScanTask(config(folder, direction=direction, loss=loss, **changes), Inputs(features=(folder / "f.npz",)))
    return train(task, folder / request.param)


def test_it_finds_pictures_it_has_never_seen(trained: Path) -> None:
    told = json.loads((trained / "config.json").read_text())
    assert told["trained"]["validation"]["picture_at_1"] > 0.6  # one of six by chance
    losses = [json.loads(line)["loss"] for line in (trained / "log.jsonl").read_text().splitlines()]
    assert losses[-1] < 0.5 * losses[10]  # attention learns too: it begins with the eleventh epoch
    assert told["facts"]["pictures"] == 22


def test_torch_and_onnx_say_the_same(folder: Path, trained: Path) -> None:
    scan = open_scan(str(trained))
    hidden = scan.checkpoint.config["hidden"]
    shape = ScanShape(len(scan.vocabulary), 100, DIM, 16, hidden, scan.direction, scan.temperature, scan.picture_width)
    model = Scan(shape, alone=scan.checkpoint.config["alone"]).eval()
    load_weights(model, trained / BEST)
    features = open_features(folder / "f.npz")
    regions, vectors = features.regions(features.ids[:4]), features.vectors(features.ids[:4])
    vectors = 5 * vectors if scan.picture_width else vectors  # so that it would be seen if they were left out
    texts = [["a", "dog", "and", "a", "cat"], ["sofa"], ["a", "ball", "with", "a", "plane", "man"], ["two", "dog"]]
    tokens, lengths = scan.vocabulary.encode(texts, 30, eos=False)
    with torch.no_grad():
        seen, read = (
            model.look(torch.from_numpy(regions), torch.from_numpy(vectors)),
            model.read(torch.from_numpy(tokens), torch.from_numpy(lengths)),
        )
        fits = model.match(seen, read, torch.from_numpy(lengths)).numpy()
    words, mapped = scan.read(texts), scan.map_regions(regions, vectors)
    own = [scan.ground(mapped[i], words.of(i)).vector.clip(0).mean() for i in range(4)]
    assert own == pytest.approx(fits, abs=2e-3)  # weights are stored in half precision


def test_regions_are_seen_with_their_picture_or_alone(folder: Path, trained: Path) -> None:
    scan, features = open_scan(str(trained)), open_features(folder / "f.npz")
    images = features.ids[:3]
    regions, vectors = features.regions(images), features.vectors(images)
    seen, alone = scan.look(features, images), scan.look(features, images, alone=True)
    np.testing.assert_array_equal(seen, scan.map_regions(regions, vectors))
    np.testing.assert_array_equal(alone, scan.map_regions(regions, 0 * vectors))
    assert scan.picture_width == (DIM if scan.checkpoint.config["context"] else 0)
    assert (np.abs(seen - alone).max() > 0.01) == scan.checkpoint.config["context"]


@pytest.mark.parametrize("direction", ["i2t", "t2i"])
def test_all_pairs_are_pairs(direction: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In blocks or at once, and with padding or without."""
    torch.manual_seed(0)
    model = Scan(ScanShape(20, 8, DIM, 6, 5, direction, 9.0)).eval()
    lengths = torch.tensor([3, 1, 5, 2, 5])
    tokens = torch.randint(4, 20, (5, 7))
    with torch.no_grad():
        seen, read = model.look(torch.randn(4, 9, DIM)), model.read(tokens, lengths)
        every = model.match_all(seen, read, lengths)
        monkeypatch.setattr("capeval.models.scan._CELLS", 1)
        assert torch.allclose(model.match_all(seen, read, lengths), every, atol=1e-6)
        for p in range(4):
            for c in range(5):
                alone = model.read(tokens[c : c + 1, : lengths[c]], lengths[c : c + 1])
                one = model.match(seen[p : p + 1], alone, lengths[c : c + 1])
                assert float(one) == pytest.approx(float(every[p, c]), abs=1e-5)


def test_the_hardest_negatives_count(folder: Path) -> None:
    task = ScanTask(config(folder, margin=0.5, loss="hinge"), Inputs(features=(folder / "f.npz",)))
    model = task.build().eval()
    batch = next(iter(task.batches(11, np.random.default_rng(0))))
    words = model.read(batch["tokens"], batch["lengths"])
    fits = model.match_all(model.look(batch["regions"]), words, batch["lengths"]).detach()
    right = fits.diagonal().clone()
    others = fits.fill_diagonal_(-9)
    expected = [(0.5 + others.amax(axis) - right).clamp(min=0).mean() for axis in (0, 1)]
    assert float(task.loss(model, batch).detach()) == pytest.approx(float(sum(expected)), abs=1e-5)


def test_recalls_by_hand() -> None:
    """Two pictures, three captions, of which the last two are the second picture's."""
    fits = np.array([[0.9, 0.8, 0.1], [0.5, 0.7, 0.3]], np.float32)
    found = recalls(fits, np.array([0, 1, 1]))
    assert found["picture_at_1"] == pytest.approx(2 / 3)  # the second caption prefers the first picture
    assert found["caption_at_1"] == 1.0
    assert found["picture_at_5"] == 1.0


def test_errors(folder: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "flat.npz", ids=np.array(["p10"]), vectors=np.zeros((1, 3), np.float32))
    with pytest.raises(DataError, match="no picture to validate with"):
        ScanTask(config(folder, validation=(str(folder / "train.json"),)), Inputs(features=(folder / "f.npz",)))
    with pytest.raises(DataError, match="no picture to train with"):
        ScanTask(config(folder), Inputs(features=(tmp_path / "flat.npz",)))
    (tmp_path / "dots.json").write_text(json.dumps({"p76": ["..."]}))
    with pytest.raises(DataError, match="captions without a word"):
        ScanTask(config(folder, sources=(str(tmp_path / "dots.json"),)), Inputs(features=(folder / "f.npz",)))
