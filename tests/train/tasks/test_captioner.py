"""The captioner learns a few pictures by heart, and says the same in torch and in ONNX Runtime."""

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

from capeval.cli import cli
from capeval.errors import DataError
from capeval.models.captioner import Captioner, Start, Step
from capeval.runtime.captioner import open_captioner, probe_outputs
from capeval.text.vocabulary import BOS, EOS
from capeval.train.checkpoint import BEST, load_weights
from capeval.train.loop import train
from capeval.train.task import Inputs
from capeval.train.tasks.captioner.config import Config
from capeval.train.tasks.captioner.task import CaptionerTask, _OnTorch

CAPTIONS = [
    "a dog runs along the beach",
    "two cats sleep on a red sofa",
    "a man rides a bicycle down the street",
    "some food on a white plate",
    "children play with a ball in the park",
    "a plane",
]
DIM = 16


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six pictures as vectors, and their captions; two more to validate with."""
    place = tmp_path_factory.mktemp("captioner")
    vectors = np.random.default_rng(0).standard_normal((8, DIM)).astype(np.float32)
    np.savez(place / "f.npz", ids=np.array([f"p{i}" for i in range(8)]), vectors=vectors)
    (place / "train.json").write_text(json.dumps({f"p{i}": [text, text] for i, text in enumerate(CAPTIONS)}))
    (place / "val.json").write_text(json.dumps({"p6": ["a dog"], "p7": ["two cats on a sofa"]}))
    return place


def config(folder: Path, **changes: Any) -> Config:
    files = {"train": (str(folder / "train.json"),), "validation": (str(folder / "val.json"),)}
    sizes = {"minimum": 1, "words": 24, "hidden": 32, "batch": 6, "epochs": 60, "learning_rate": 0.02, "decay": 0.99}
    return Config(**{**files, **sizes, "patience": 0, "dropout": 0.0, **changes})


@pytest.fixture(scope="module")
def trained(folder: Path) -> Path:
    class Last(CaptionerTask):
        """The last epoch is the best one: what is validated with has nothing to do with what is learned."""

        monitor = "epoch"

        def validate(self, model: Any) -> dict[str, float]:
            self.count = getattr(self, "count", 0) + 1
            return super().validate(model) | {"epoch": float(self.count)}

    task = Last(config(folder), Inputs(features=(folder / "f.npz",)))
    return train(task, folder / "out")


def vectors(folder: Path) -> Any:
    return np.load(folder / "f.npz")["vectors"]


def test_it_learns_the_captions_by_heart(folder: Path, trained: Path) -> None:
    writer = open_captioner(trained)
    assert writer.captions(vectors(folder)[:6]) == CAPTIONS
    assert writer.captions(vectors(folder)[:6], beam=1) == CAPTIONS
    drawn = writer.samples(vectors(folder)[:6], 4, temperature=0.2)
    assert drawn == [[text] * 4 for text in CAPTIONS]


def test_torch_and_onnx_say_the_same(folder: Path, trained: Path) -> None:
    writer = open_captioner(trained)
    model = Captioner(DIM, len(writer.vocabulary), 24, 32, 0.0)
    load_weights(model, trained / BEST)
    ids = writer.vocabulary.encode_texts(CAPTIONS, 8)[0]
    ids[ids == 0] = EOS
    with torch.no_grad():
        expected = probe_outputs(_OnTorch(model.eval()), vectors(folder)[:6], ids)
    found = probe_outputs(writer.network, vectors(folder)[:6], ids)
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, atol=0.02)  # half precision weights


def test_steps_give_what_the_whole_sequence_gives(folder: Path) -> None:
    torch.manual_seed(0)
    model = Captioner(DIM, 12, 8, 16, 0.5).eval()
    ids = torch.tensor([[BOS, 5, 7, EOS], [BOS, 4, EOS, 0]])
    pictures = torch.from_numpy(vectors(folder)[:2])
    with torch.no_grad():
        scores, words = model(pictures, ids)
        state = Start(model)(pictures)
        found = []
        for place in range(3):
            row, *state = Step(model)(ids[:, place], *state)
            found.append(row)
    stacked = torch.stack(found, 1)[ids[:, 1:] != 0]
    assert words.tolist() == [5, 7, EOS, 4, EOS]
    possible = [EOS, *range(4, 12)]
    torch.testing.assert_close(stacked[:, possible], torch.log_softmax(scores[:, possible], -1))
    assert (stacked.exp()[:, [0, 1, 3]] == 0).all()


def test_draws_of_an_epoch(folder: Path) -> None:
    task = CaptionerTask(config(folder, captions_per_picture=1, batch=4), Inputs(features=(folder / "f.npz",)))
    batches = list(task.batches(1, np.random.default_rng(0)))
    assert task.steps() == len(batches) == 2
    rows = sorted(tuple(row[row > 0].tolist()) for batch in batches for row in batch["ids"])
    wanted = task.vocabulary.encode_texts(CAPTIONS, 20, bos=True)[0]
    assert rows == sorted(tuple(row[row > 0].tolist()) for row in wanted)


def test_nothing_to_train_on(folder: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "f.npz", ids=np.array(["other"]), vectors=np.zeros((1, DIM), np.float32))
    with pytest.raises(DataError, match="no picture to train with"):
        CaptionerTask(config(folder), Inputs(features=(tmp_path / "f.npz",)))
    with pytest.raises(DataError, match="no word occurs 50 times"):
        CaptionerTask(config(folder, minimum=50), Inputs(features=(folder / "f.npz",)))


def test_the_command_line(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["train", "captioner", "--show"], standalone_mode=False)
    assert "hidden = 512" in capsys.readouterr().out
    settings = [
        "epochs=1",
        "minimum=1",
        "hidden=8",
        f'train=["{folder}/train.json"]',
        f'validation=["{folder}/val.json"]',
    ]
    arguments = [part for setting in settings for part in ("--set", setting)]
    arguments += ["--features", str(folder / "f.npz"), "--out", str(tmp_path / "out")]
    cli.main(["train", "captioner", *arguments], standalone_mode=False)
    told = capsys.readouterr().err
    assert "captioner: epoch 1 of 1, loss" in told
    assert "best epoch 1 of 1" in told
    facts = json.loads((tmp_path / "out" / "config.json").read_text())["facts"]
    assert facts["trained_on"] == [f"images:{folder}/train.json-train"]
    arguments = [
        "--features",
        str(folder / "f.npz"),
        "--checkpoint",
        str(tmp_path / "out"),
        "-o",
        str(tmp_path / "c.json"),
    ]
    cli.main(["caption", *arguments], standalone_mode=False)
    assert [row["image_id"] for row in json.loads((tmp_path / "c.json").read_text())] == [f"p{i}" for i in range(8)]
