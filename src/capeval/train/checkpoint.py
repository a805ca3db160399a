"""Writing checkpoints: whole or not at all, without pickle.

`last.safetensors` holds all that the next epoch needs: weights, the optimizer's state, and how far the training has
come. It is written last in an epoch, so that whatever a killed process left behind is made again in the same way.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from capeval.errors import CheckpointError
from capeval.io.cache import sha256_of
from capeval.io.files import writing
from capeval.runtime.checkpoint import CONFIG, LOG, open_checkpoint, read_config_file

BEST, LAST = "weights.safetensors", "last.safetensors"


@dataclass(frozen=True)
class Reached:
    """How far a training has come."""

    epoch: int = 0
    best_epoch: int = 0
    best: float | None = None
    validation: dict[str, float] | None = None
    """The numbers of the best epoch."""
    seconds: float = 0.0


def write_bytes(path: Path, data: bytes) -> None:
    """Atomic, and on the disk before it counts."""
    with writing(path) as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())


def write_json(path: Path, content: Any) -> None:
    write_bytes(path, (json.dumps(content, indent=2, allow_nan=False, sort_keys=False) + "\n").encode())


def save_weights(model: nn.Module, path: Path) -> None:
    write_bytes(path, save(_contiguous(model.state_dict())))


def load_weights(model: nn.Module, path: Path) -> None:
    """Strict: every weight of the model must be in the file with its shape, and nothing else."""
    _load(model, _read(path)[0], path)


def save_last(
    model: nn.Module, mean: nn.Module | None, optimizer: torch.optim.Optimizer, reached: Reached, path: Path
) -> None:
    """`mean`: the running mean of the model's weights, if there is one."""
    state = optimizer.state_dict()
    tensors = {f"model.{name}": value for name, value in model.state_dict().items()}
    if mean is not None:
        tensors |= {f"mean.{name}": value for name, value in mean.state_dict().items()}
    for index, values in state["state"].items():
        for key, value in values.items():
            tensors[f"optimizer.{index}.{key}"] = torch.as_tensor(value)
    facts = {"progress": json.dumps(asdict(reached)), "groups": json.dumps(state["param_groups"])}
    write_bytes(path, save(_contiguous(tensors), metadata=facts))


def load_last(model: nn.Module, mean: nn.Module | None, optimizer: torch.optim.Optimizer, path: Path) -> Reached:
    tensors, facts = _read(path)
    for each, begin in ((model, "model."), (mean, "mean.")):
        if each is not None:
            _load(
                each, {key.removeprefix(begin): value for key, value in tensors.items() if key.startswith(begin)}, path
            )
    state: dict[int, dict[str, Tensor]] = {}
    for key, value in tensors.items():
        if key.startswith("optimizer."):
            _, index, name = key.split(".", 2)
            state.setdefault(int(index), {})[name] = value
    try:
        reached = Reached(**json.loads(facts["progress"]))
        optimizer.load_state_dict({"state": state, "param_groups": json.loads(facts["groups"])})
    except (KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"{path}: this is not the state of a training: {error}") from None
    return reached


def append_log(folder: Path, line: Mapping[str, Any]) -> None:
    """Adds the line of an epoch; lines of the same or a later epoch, which a killed process left, are dropped."""
    path = folder / LOG
    kept = [each for each in read_log(folder) if each["epoch"] < line["epoch"]]
    write_bytes(path, b"".join(json.dumps(each).encode() + b"\n" for each in [*kept, line]))


def read_log(folder: Path) -> list[dict[str, Any]]:
    path = folder / LOG
    try:
        return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.is_file() else []
    except ValueError:
        raise CheckpointError(f"{path}: damaged: each line must be JSON") from None


def publish(folder: Path, target: Path) -> None:
    """Copies what scoring needs of a finished checkpoint; the weights for further training stay behind."""
    checkpoint = open_checkpoint(folder, read_config_file(folder)["model"])
    target.mkdir(parents=True, exist_ok=True)
    for name in checkpoint.files:
        shutil.copyfile(folder / name, target / name)
    write_bytes(target / CONFIG, (folder / CONFIG).read_bytes())


def hashes(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """What a finished checkpoint is made of."""
    return {name: sha256_of(folder / name) for name in sorted(names)}


def _contiguous(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: value.detach().cpu().contiguous().clone() for name, value in tensors.items()}


def _read(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    try:
        with safe_open(path, "pt") as stored:
            return {name: stored.get_tensor(name) for name in stored.keys()}, dict(stored.metadata() or {})  # noqa: SIM118
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"{path}: cannot be read: {error}") from None


def _load(model: nn.Module, tensors: Mapping[str, Tensor], path: Path) -> None:
    own = model.state_dict()
    problems = {
        "missing": sorted(own.keys() - tensors.keys()),
        "unexpected": sorted(tensors.keys() - own.keys()),
        "of another shape": sorted(
            f"{name} {list(tensors[name].shape)} instead of {list(own[name].shape)}"
            for name in own.keys() & tensors.keys()
            if own[name].shape != tensors[name].shape
        ),
    }
    if any(problems.values()):
        told = "; ".join(f"{kind}: {', '.join(names)}" for kind, names in problems.items() if names)
        raise CheckpointError(f"{path}: these are not the weights of this model. {told}")
    model.load_state_dict(dict(tensors))
