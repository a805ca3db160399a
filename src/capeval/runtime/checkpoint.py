"""Trained models as scoring sees them: a folder with a config, exported networks and a probe; no torch.

A folder holds
    config.json   format, kind of model, its config, facts about its training, and the files with their hashes
    *.onnx        the networks; other files as the model needs them, such as vocabulary.txt
    probe.npz     a few inputs (`input.NAME`) and what the model gave for them (`output.NAME`)
    log.jsonl     a line for each epoch of training
Training adds its weights as safetensors, which scoring does not read.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from capeval.errors import CheckpointError, UnknownName, UnsuitableFeatures, without_pickle_advice
from capeval.io.assets import assets, find_asset, installed_assets
from capeval.io.cache import sha256_of
from capeval.io.files import PathLike
from capeval.run import Run

FORMAT = 1
CONFIG, PROBE, LOG = "config.json", "probe.npz", "log.jsonl"

Arrays = dict[str, npt.NDArray[Any]]
Network = Callable[[Mapping[str, npt.NDArray[Any]]], Arrays]

_MAX_CONFIG = 1 << 20


@dataclass(frozen=True)
class Checkpoint:
    """A finished checkpoint whose files are what its config says."""

    folder: Path
    model: str
    config: Mapping[str, Any]
    facts: Mapping[str, Any]
    """What is known of its training: the encoder of its pictures, how many there were, and so on."""
    files: Mapping[str, str]
    """sha256 by name."""

    @cached_property
    def digest(self) -> str:
        """Identifies config and files, for signatures. The log and the probe do not decide scores."""
        decisive = {name: sha for name, sha in self.files.items() if name not in (LOG, PROBE)}
        content = json.dumps([self.model, dict(self.config), decisive], sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()[:12]

    def path(self, name: str) -> Path:
        if name not in self.files:
            raise CheckpointError(f"{self.folder}: there is no {name}")
        return self.folder / name

    def session(self, name: str = "model.onnx", threads: int = 1) -> Any:
        """The network on ONNX Runtime; opened once in a process."""
        return _session(str(self.path(name)), threads)

    def run(self, name: str = "model.onnx", threads: int = 1) -> Network:
        """The network as a function from named arrays to named arrays."""
        session = self.session(name, threads)
        names = [output.name for output in session.get_outputs()]

        def run(inputs: Mapping[str, npt.NDArray[Any]]) -> Arrays:
            return dict(zip(names, session.run(names, dict(inputs)), strict=True))

        return run

    @property
    def encoder(self) -> str:
        """Whose pictures it knows; empty where it looks at none, or learned from somebody's own features."""
        return str(self.facts.get("encoder", ""))

    def check_encoder(self, encoder: str) -> None:
        """Refuses pictures that were encoded otherwise than those of the training; who is not known may pass."""
        if self.encoder and encoder and self.encoder != encoder:
            raise self._unsuitable(f"pictures encoded by {self.encoder}, these were encoded by {encoder}")

    def check_width(self, kind: str, wanted: int, found: int) -> None:
        """Refuses vectors or regions (`kind`) of another width than those of the training."""
        if wanted != found:
            raise self._unsuitable(f"{kind} of {wanted} numbers, these have {found}")

    def _unsuitable(self, what: str) -> UnsuitableFeatures:
        return UnsuitableFeatures(
            f"the {self.model} model {self.folder.name!r} knows {what}. Make features with `capeval features`, or "
            f"train one with yours: `capeval train {self.model}`"
        )

    def check_probe(self, run: Network, tolerance: float = 1e-3) -> None:
        """Whether this machine gives the outputs that training saw. Sizes, types and values count."""
        inputs, expected = read_probe(self.folder / PROBE)
        found = run(inputs)
        for name, wanted in expected.items():
            value = found.get(name)
            if value is None or value.shape != wanted.shape:
                raise CheckpointError(f"{self.folder}: the model's output {name!r} does not have the form of its probe")
            difference = float(np.max(np.abs(value.astype(np.float64) - wanted), initial=0.0))
            if not difference <= tolerance:
                raise CheckpointError(
                    f"{self.folder}: the model does not give the outputs that it gave when it was trained "
                    f"({name!r} differs by {difference:.2g}, more than {tolerance:g}). Another version of onnxruntime "
                    "may help; else the checkpoint is damaged: install it again or train again"
                )


def installed_checkpoints(run: Run | None = None) -> dict[str, Path]:
    """The folders of checkpoints that go by a name: capeval's, as far as they are here, and other packages'."""
    return {name: folder for name, folder in installed_assets(run).items() if (folder / CONFIG).is_file()}


def open_checkpoint(source: PathLike, model: str, run: Run | None = None) -> Checkpoint:
    """The checkpoint in a folder, or the one of that name. `model` is the kind that is needed."""
    folder, name = Path(source), str(source)
    named = installed_checkpoints(run) if folder.name == name else {}
    known = {asset.name for asset in assets().values() if asset.kind == "checkpoint"}
    if name in named or name in known:
        folder = named.get(name) or find_asset(name, run)
    elif not folder.exists() and folder.name == name:
        raise UnknownName("checkpoint (neither a folder nor the name of one)", name, {*named, *known})
    content = read_config_file(folder)
    if content["model"] != model:
        raise CheckpointError(f"{folder}: this is a checkpoint of {content['model']!r}, not of {model!r}")
    files = content.get("files")
    if not isinstance(files, dict):
        raise CheckpointError(
            f"{folder}: the training of {content['model']} has not finished", remedy="unfinished_training"
        )
    for name, sha in files.items():
        path = folder / name
        if Path(name).name != name or not path.is_file():
            raise CheckpointError(f"{folder}: {name} is missing. Train again, or install the checkpoint again")
        if sha256_of(path) != sha:
            raise CheckpointError(f"{path}: damaged, its checksum is not that of config.json")
    return Checkpoint(folder, content["model"], content["config"], content.get("facts", {}), files)


def read_config_file(folder: Path) -> dict[str, Any]:
    """config.json of a checkpoint folder, finished or not."""
    path = folder / CONFIG
    try:
        if path.stat().st_size > _MAX_CONFIG:
            raise CheckpointError(f"{path}: too large to be the config of a checkpoint")
        content = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise CheckpointError(f"{folder}: no checkpoint is here, there is no {CONFIG}") from None
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise CheckpointError(f"{path}: damaged: {error}") from None
    if not isinstance(content, dict) or not {"format", "model", "config"} <= content.keys():
        raise CheckpointError(f"{path}: this is not the config of a checkpoint")
    if content["format"] != FORMAT:
        raise CheckpointError(f"{path}: format {content['format']}, but this capeval reads format {FORMAT}. Update it")
    return content


def read_probe(path: Path) -> tuple[Arrays, Arrays]:
    """Inputs and outputs."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise CheckpointError(f"{path}: the probe cannot be read: {without_pickle_advice(error)}") from None
    sides = [
        {name.removeprefix(side): array for name, array in arrays.items() if name.startswith(side)}
        for side in ("input.", "output.")
    ]
    if not all(sides):
        raise CheckpointError(f"{path}: the probe needs inputs and outputs")
    return sides[0], sides[1]


@lru_cache(maxsize=16)
def _session(path: str, threads: int) -> Any:
    from capeval.runtime.session import open_session

    return open_session(path, threads=threads)
