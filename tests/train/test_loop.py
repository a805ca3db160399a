"""The training loop and its checkpoints, on a task that learns a line in a moment."""

# ruff: noqa: E402  (what needs torch is imported after asking whether it is there)

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")
pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from torch import Tensor, nn

from capeval.errors import CapevalError, CheckpointError
from capeval.run import Run
from capeval.runtime.checkpoint import open_checkpoint
from capeval.runtime.session import open_session
from capeval.train.checkpoint import BEST, LAST, load_weights, publish, read_log
from capeval.train.config import TrainConfig
from capeval.train.export import to_onnx
from capeval.train.loop import fit, train
from capeval.train.task import Arrays, Batch, Task


@dataclass(frozen=True)
class TinyConfig(TrainConfig):
    width: int = 8
    """Hidden units."""
    dropout: float = 0.1
    weights: Literal["float32", "float16", "int8"] = "float32"


class TinyTask(Task[nn.Module]):
    name: ClassVar[str] = "tiny"
    monitor = "error"
    better: ClassVar[Literal["max", "min"]] = "min"

    def __init__(self, config: TinyConfig, kill_at: tuple[int, int] | None = None) -> None:
        self.config: TinyConfig = config
        self.kill_at = kill_at
        """Epoch and batch at which the process kills itself, as hard as can be."""

    def build(self) -> nn.Module:
        width = self.config.width
        return nn.Sequential(nn.Linear(3, width), nn.Tanh(), nn.Dropout(self.config.dropout), nn.Linear(width, 1))

    def batches(self, epoch: int, random: np.random.Generator) -> Iterator[Batch]:
        for step in range(10):
            if self.kill_at == (epoch, step):
                os.kill(os.getpid(), signal.SIGKILL)
            x = torch.from_numpy(random.standard_normal((self.config.batch, 3)).astype(np.float32))
            yield {"x": x, "y": x.sum(1, keepdim=True)}

    def loss(self, model: Any, batch: Batch) -> Tensor:
        return nn.functional.mse_loss(model(batch["x"]), batch["y"])

    def validate(self, model: Any) -> dict[str, float]:
        x = torch.linspace(-1, 1, 30).reshape(10, 3)
        return {"error": float(nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)))}

    def export(self, model: Any, folder: Path) -> tuple[str, ...]:
        to_onnx(model, {"x": torch.zeros(2, 3)}, ["y"], folder / "model.onnx", weights=self.config.weights)
        return ("model.onnx",)

    def probe(self, folder: Path) -> tuple[Arrays, Arrays]:
        x = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)
        return {"x": x}, {"y": open_session(folder / "model.onnx").run(["y"], {"x": x})[0]}

    def assets(self) -> dict[str, bytes]:
        return {"words.txt": b"a\n"}

    def facts(self) -> dict[str, Any]:
        return {"encoder": "none"}


CONFIG = TinyConfig(epochs=4, batch=16)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A training that nothing disturbed."""
    return train(TinyTask(CONFIG), tmp_path_factory.mktemp("whole"))


def test_it_learns(tmp_path: Path) -> None:
    config = replace(CONFIG, epochs=40, learning_rate=0.02, decay=0.95, dropout=0.0)
    train(TinyTask(config), tmp_path)
    errors = [line["validation"]["error"] for line in read_log(tmp_path)]
    assert min(errors) < 0.01 < errors[0]


def test_the_folder(whole: Path) -> None:
    names = {path.name for path in whole.iterdir()}
    assert names == {"config.json", BEST, LAST, "model.onnx", "probe.npz", "log.jsonl", "words.txt"}
    checkpoint = open_checkpoint(whole, "tiny")
    assert checkpoint.config["batch"] == 16
    assert checkpoint.facts == {"encoder": "none"}
    checkpoint.check_probe(checkpoint.run())
    log = read_log(whole)
    assert [line["epoch"] for line in log] == [1, 2, 3, 4]
    assert log[1]["learning_rate"] == pytest.approx(0.9 * log[0]["learning_rate"])
    assert all(line["loss"] > 0 and line["seconds"] >= 0 for line in log)


def test_the_exported_model_is_the_trained_one(whole: Path) -> None:
    model = TinyTask(CONFIG).build()
    load_weights(model, whole / BEST)
    x = np.random.default_rng(1).standard_normal((7, 3)).astype(np.float32)
    with torch.no_grad():
        expected = model.eval()(torch.from_numpy(x)).numpy()
    np.testing.assert_allclose(open_checkpoint(whole, "tiny").run()({"x": x})["y"], expected, atol=1e-6)


@pytest.mark.parametrize(("weights", "tolerance"), [("float16", 2e-3), ("int8", 0.1)])
def test_smaller_weights(weights: str, tolerance: float, tmp_path: Path) -> None:
    config = replace(CONFIG, width=2048, epochs=1, weights=weights)
    full = train(TinyTask(replace(config, weights="float32")), tmp_path / "full")
    small = train(TinyTask(config), tmp_path / "small")
    assert (small / "model.onnx").stat().st_size < 0.7 * (full / "model.onnx").stat().st_size
    x = np.random.default_rng(1).standard_normal((7, 3)).astype(np.float32)
    ours, theirs = (open_checkpoint(place, "tiny").run()({"x": x})["y"] for place in (small, full))
    np.testing.assert_allclose(ours, theirs, atol=tolerance)


@pytest.mark.parametrize(("epoch", "step"), [(1, 3), (3, 0), (4, 9)])
def test_a_killed_training_goes_on_with_the_same_weights(whole: Path, tmp_path: Path, epoch: int, step: int) -> None:
    done = subprocess.run([sys.executable, __file__, str(tmp_path), str(epoch), str(step)], capture_output=True)
    assert done.returncode == -signal.SIGKILL
    assert len(read_log(tmp_path)) == epoch - 1
    with pytest.raises(CheckpointError, match="has not finished"):
        open_checkpoint(tmp_path, "tiny")
    train(TinyTask(CONFIG), tmp_path, resume=True)
    for name in (BEST, "model.onnx", "probe.npz"):
        assert (tmp_path / name).read_bytes() == (whole / name).read_bytes(), name
    tensors = [load_state(place / LAST) for place in (tmp_path, whole)]
    assert tensors[0] == tensors[1]


def load_state(path: Path) -> dict[str, bytes]:
    from safetensors.numpy import load_file

    return {name: array.tobytes() for name, array in load_file(path).items()}


def test_a_process_killed_between_two_files_leaves_nothing_wrong(whole: Path, tmp_path: Path) -> None:
    train(TinyTask(replace(CONFIG, epochs=2)), tmp_path / "part")
    # As if killed before last.safetensors of the third epoch was written: the log and the best weights are newer.
    log = (whole / "log.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "part" / "log.jsonl").write_text("".join(log[:3]))
    (tmp_path / "part" / BEST).write_bytes(b"newer")
    train(TinyTask(CONFIG), tmp_path / "part", resume=True)
    assert (tmp_path / "part" / BEST).read_bytes() == (whole / BEST).read_bytes()
    assert [line["epoch"] for line in read_log(tmp_path / "part")] == [1, 2, 3, 4]


def test_more_epochs_for_a_finished_training(whole: Path, tmp_path: Path) -> None:
    train(TinyTask(replace(CONFIG, epochs=2)), tmp_path)
    train(TinyTask(CONFIG), tmp_path, resume=True)
    assert load_state(tmp_path / LAST) == load_state(whole / LAST)
    assert json.loads((tmp_path / "config.json").read_text())["config"]["epochs"] == 4


def test_a_running_mean_is_what_is_kept(tmp_path: Path) -> None:
    config = replace(CONFIG, epochs=2, average=0.75, dropout=0.0)
    steps: list[Tensor] = []

    class Watched(TinyTask):
        def loss(self, model: Any, batch: Batch) -> Tensor:
            steps.append(model[0].weight.detach().clone())
            return super().loss(model, batch)

    train(Watched(config), tmp_path / "whole")
    last = torch.frombuffer(bytearray(load_state(tmp_path / "whole" / LAST)["model.0.weight"]), dtype=torch.float32)
    expected = steps[1]  # what the first step made
    for weights in [*steps[2:], last.reshape(steps[0].shape)]:
        expected = 0.75 * expected + 0.25 * weights
    kept = TinyTask(config).build()
    load_weights(kept, tmp_path / "whole" / BEST)
    np.testing.assert_allclose(kept[0].weight.detach(), expected, atol=1e-6)

    train(TinyTask(replace(config, epochs=1)), tmp_path / "parts")
    train(TinyTask(config), tmp_path / "parts", resume=True)
    assert load_state(tmp_path / "parts" / LAST) == load_state(tmp_path / "whole" / LAST)


def test_a_key_that_an_older_version_did_not_have(whole: Path, tmp_path: Path) -> None:
    train(TinyTask(replace(CONFIG, epochs=2)), tmp_path)
    content = json.loads((tmp_path / "config.json").read_text())
    del content["config"]["average"]
    (tmp_path / "config.json").write_text(json.dumps(content))
    with pytest.raises(CheckpointError, match=r"average 0\.0, not 0\.5"):
        train(TinyTask(replace(CONFIG, average=0.5)), tmp_path, resume=True)
    train(TinyTask(CONFIG), tmp_path, resume=True)
    assert load_state(tmp_path / LAST) == load_state(whole / LAST)


def test_the_seed_decides(whole: Path, tmp_path: Path) -> None:
    other = train(TinyTask(replace(CONFIG, seed=1)), tmp_path / "1")
    assert load_state(other / BEST) != load_state(whole / BEST)


def test_global_state_of_torch_is_left_alone(tmp_path: Path) -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    threads = torch.get_num_threads()
    train(TinyTask(replace(CONFIG, epochs=1)), tmp_path)
    assert torch.equal(torch.rand(3), expected)
    assert torch.get_num_threads() == threads


def test_the_threads_are_those_of_the_run(tmp_path: Path) -> None:
    found = []

    class Watched(TinyTask):
        def validate(self, model: Any) -> dict[str, float]:
            found.append(torch.get_num_threads())
            return super().validate(model)

    before = torch.get_num_threads()
    train(Watched(replace(CONFIG, epochs=1)), tmp_path / "none")
    train(Watched(replace(CONFIG, epochs=1)), tmp_path / "two", run=Run(threads=2))
    assert found == [1, 2]
    assert torch.get_num_threads() == before


def test_what_is_told(notes: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    run = Run(threads=1, progress=notes)
    train(TinyTask(replace(CONFIG, epochs=1)), tmp_path, run=run)
    train(TinyTask(replace(CONFIG, epochs=2)), tmp_path, resume=True, run=run)
    assert notes.bars == ["epoch 1 of 1", "epoch 2 of 2"]
    kinds = ("epoch 1 of 1, loss", "best epoch 1 of 1", "going on after epoch 1", "epoch 2 of 2, loss", "best epoch 2")
    assert all(message.startswith(f"tiny: {kind}") for message, kind in zip(notes.messages, kinds, strict=True))
    assert "validation: error" in notes.messages[0]
    assert capfd.readouterr() == ("", "")


class Unwatched(TinyTask):
    monitor = ""

    def validate(self, model: object) -> dict[str, float]:
        raise AssertionError("nothing is validated")


def test_without_a_monitor_the_last_epoch_is_kept(whole: Path, tmp_path: Path) -> None:
    model, reached = fit(Unwatched(CONFIG), tmp_path)
    assert (reached.best_epoch, reached.validation) == (4, {})
    assert not model.training
    last = load_state(whole / LAST)
    for name, value in model.state_dict().items():
        assert value.numpy().tobytes() == last[f"model.{name}"]
    assert not (tmp_path / "model.onnx").exists()
    train(Unwatched(CONFIG), tmp_path, resume=True)  # what `fit` began, `train` completes
    open_checkpoint(tmp_path, "tiny")


class Declared(TinyTask):
    sources = ("coco", "flickr8k", "coco")
    encoder = "lite0/1"

    def facts(self) -> dict[str, Any]:
        return {"pictures": 7}


def test_facts_that_a_task_declares(tmp_path: Path) -> None:
    folder = train(Declared(replace(CONFIG, epochs=1)), tmp_path)
    assert open_checkpoint(folder, "tiny").facts == {
        "encoder": "lite0/1",
        "pictures": 7,
        "trained_on": ["images:coco-train", "images:flickr8k-train"],
    }


def test_a_fact_that_another_version_did_not_write(whole: Path, tmp_path: Path) -> None:
    train(TinyTask(replace(CONFIG, epochs=2)), tmp_path)
    content = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(content | {"facts": {"formerly": 1}}))
    train(TinyTask(CONFIG), tmp_path, resume=True)
    assert load_state(tmp_path / LAST) == load_state(whole / LAST)


class Worse(TinyTask):
    """Its validation gets worse after the second epoch."""

    def validate(self, model: object) -> dict[str, float]:
        self.calls = getattr(self, "calls", 0) + 1
        return {"error": abs(self.calls - 2.0)}


def test_early_stopping(tmp_path: Path) -> None:
    train(Worse(replace(CONFIG, epochs=30, patience=3)), tmp_path)
    log = read_log(tmp_path)
    assert [line["best"] for line in log] == [True, True, False, False, False]
    assert json.loads((tmp_path / "config.json").read_text())["trained"]["epoch"] == 2


class Exploding(TinyTask):
    def loss(self, model: object, batch: object) -> torch.Tensor:
        return super().loss(model, batch) * float("nan")  # type: ignore[arg-type]


def test_a_loss_that_is_not_finite(tmp_path: Path) -> None:
    with pytest.raises(CapevalError, match=r"not finite.*learning_rate"):
        train(Exploding(CONFIG), tmp_path)


class OtherData(TinyTask):
    def facts(self) -> dict[str, Any]:
        return {"encoder": "other"}


def test_a_folder_in_use(whole: Path, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="resume=True"):
        train(TinyTask(CONFIG), whole)
    with pytest.raises(CheckpointError, match="other config: seed 0, not 3; width 8, not 4"):
        train(TinyTask(replace(CONFIG, seed=3, width=4)), whole, resume=True)
    with pytest.raises(CheckpointError, match="other data: encoder 'none', not 'other'"):
        train(OtherData(CONFIG), whole, resume=True)
    open_checkpoint(whole, "tiny")


def test_while_epochs_are_added_the_checkpoint_is_not_finished(tmp_path: Path) -> None:
    train(TinyTask(replace(CONFIG, epochs=1)), tmp_path)
    with pytest.raises(CapevalError, match="not finite"):
        train(Exploding(CONFIG), tmp_path, resume=True)
    with pytest.raises(CheckpointError, match="has not finished"):
        open_checkpoint(tmp_path, "tiny")


def test_without_its_last_state_a_training_is_not_begun_again(whole: Path, tmp_path: Path) -> None:
    publish(whole, tmp_path / "out")
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    with pytest.raises(CheckpointError, match=r"last\.safetensors is missing"):
        train(TinyTask(replace(CONFIG, epochs=9)), tmp_path / "out", resume=True)
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before


def test_a_damaged_last_state_leaves_the_finished_model_alone(whole: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(whole, tmp_path / "copy"))
    (folder / LAST).write_bytes((folder / LAST).read_bytes()[:100])
    with pytest.raises(CheckpointError, match="cannot be read"):
        train(TinyTask(replace(CONFIG, epochs=9)), folder, resume=True)
    open_checkpoint(folder, "tiny")
    (folder / LAST).unlink()
    (folder / "log.jsonl").write_text("{\n")
    with pytest.raises(CheckpointError):
        train(TinyTask(replace(CONFIG, epochs=9)), folder, resume=True)


def test_other_files_in_the_folder_are_no_part_of_the_checkpoint(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("first")
    train(TinyTask(replace(CONFIG, epochs=1)), tmp_path)
    (tmp_path / "notes.txt").write_text("second")
    assert set(open_checkpoint(tmp_path, "tiny").files) == {"model.onnx", "words.txt", "probe.npz", "log.jsonl"}


def test_an_unknown_device(tmp_path: Path) -> None:
    with pytest.raises(CapevalError, match="no device 'abacus'"):
        train(TinyTask(CONFIG), tmp_path, device="abacus")


def test_loading_is_strict(whole: Path) -> None:
    model = torch.nn.ModuleDict({"0": torch.nn.Linear(2, 8), "other": torch.nn.Linear(1, 1)})
    with pytest.raises(CheckpointError) as problem:
        load_weights(model, whole / BEST)
    assert "missing: other.bias, other.weight" in str(problem.value)
    assert "unexpected: 3.bias, 3.weight" in str(problem.value)
    assert "0.weight [8, 3] instead of [8, 2]" in str(problem.value)


def test_damaged_weights(tmp_path: Path) -> None:
    (tmp_path / "w.safetensors").write_bytes(b"12345678nonsense")
    with pytest.raises(CheckpointError, match="cannot be read"):
        load_weights(torch.nn.Linear(1, 1), tmp_path / "w.safetensors")


def test_publishing_leaves_the_weights_behind(whole: Path, tmp_path: Path) -> None:
    publish(whole, tmp_path / "out")
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"config.json", "model.onnx", "probe.npz", "log.jsonl", "words.txt"}
    checkpoint = open_checkpoint(tmp_path / "out", "tiny")
    checkpoint.check_probe(checkpoint.run())
    assert checkpoint.digest == open_checkpoint(whole, "tiny").digest


if __name__ == "__main__":  # a training that kills itself
    train(TinyTask(CONFIG, (int(sys.argv[2]), int(sys.argv[3]))), sys.argv[1])
