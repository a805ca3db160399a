"""The training loop that all models share.

The draws of an epoch depend on the seed and on the epoch's number alone. So nothing random has to be stored, and a
training that was killed goes on from its last whole epoch as if nothing had happened.
"""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from capeval import __version__
from capeval.errors import CapevalError, CheckpointError, DataError
from capeval.io.files import writing
from capeval.progress import bar
from capeval.runtime.checkpoint import CONFIG, FORMAT, LOG, PROBE, read_config_file
from capeval.train.checkpoint import (
    BEST,
    LAST,
    Progress,
    append_log,
    hashes,
    load_last,
    load_weights,
    read_log,
    save_last,
    save_weights,
    write_bytes,
    write_json,
)
from capeval.train.config import config_to_dict
from capeval.train.task import Batch, Model, Task

Note = Callable[[str], None]

_MAY_CHANGE = {"epochs", "patience"}


def train(
    task: Task[Model],
    folder: str | os.PathLike[str],
    *,
    resume: bool = False,
    threads: int = 1,
    device: str = "auto",
    note: Note = lambda text: print(text, file=sys.stderr, flush=True),
) -> Path:
    """Trains until the epochs are over or patience is, and writes the checkpoint; returns its folder."""
    place = Path(folder)
    chosen = _device(device)
    started = _prepare(task, place, resume)
    with _torch_settings(threads, chosen):
        torch.manual_seed(_seed(task, 0))
        model = task.build().to(chosen)
        mean = _mean(model, task.config.average)
        optimizer = task.optimizer(model)
        progress = Progress()
        if started:
            progress = load_last(model, mean, optimizer, place / LAST)
            note(f"{task.name}: going on after epoch {progress.epoch}")
        write_json(place / CONFIG, _config_content(task))  # not finished, until it is again
        while not _is_over(task, progress):
            progress = _epoch(task, model, mean, optimizer, progress, place, chosen, note)
        if progress.validation is None:
            raise CapevalError("no epoch was trained")
        finish(task, model.to("cpu"), progress, place)
    note(f"{task.name}: best epoch {progress.best_epoch} of {progress.epoch} ({_shown(progress.validation)}): {place}")
    return place


def finish(task: Task[Model], model: Model, progress: Progress, folder: Path) -> None:
    """Exports the best weights and completes the checkpoint."""
    load_weights(model, folder / BEST)
    model.eval()
    with torch.no_grad():
        written = {*task.export(model, folder), LOG, PROBE}
    for name, data in task.assets().items():
        write_bytes(folder / name, data)
        written.add(name)
    inputs, outputs = task.probe(folder)
    arrays = {f"input.{name}": value for name, value in inputs.items()}
    arrays |= {f"output.{name}": value for name, value in outputs.items()}
    with writing(folder / PROBE) as stream:
        np.savez(stream, **arrays)  # type: ignore[arg-type]
    done = {"epoch": progress.best_epoch, "epochs": progress.epoch, "seconds": round(progress.seconds, 1)}
    content = _config_content(task) | {
        "trained": done | {"validation": progress.validation},
        "files": hashes(folder, written),
    }
    write_json(folder / CONFIG, content)


def _mean(model: nn.Module, share: float) -> AveragedModel | None:
    return AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(share)) if share else None


def _epoch(
    task: Task[Model],
    model: Model,
    mean: AveragedModel | None,
    optimizer: torch.optim.Optimizer,
    progress: Progress,
    folder: Path,
    device: torch.device,
    note: Note,
) -> Progress:
    epoch, begin = progress.epoch + 1, time.monotonic()
    torch.manual_seed(_seed(task, epoch))
    random = np.random.default_rng([task.config.seed, epoch])
    rate = task.config.learning_rate * task.config.decay ** (epoch - 1)
    for group in optimizer.param_groups:
        group["lr"] = rate
    loss = _steps(task, model, mean, optimizer, epoch, random, device)
    kept = model if mean is None else cast(Model, mean.module)  # a copy of the model
    kept.eval()
    with torch.no_grad():
        validation = {name: float(value) for name, value in task.validate(kept).items()}
    value = validation[task.monitor]
    if not all(map(math.isfinite, validation.values())):
        raise CapevalError(f"epoch {epoch}: the validation is not finite: {_shown(validation)}")
    is_better = progress.best is None or (value > progress.best if task.better == "max" else value < progress.best)
    seconds = time.monotonic() - begin
    progress = replace(progress, epoch=epoch, seconds=progress.seconds + seconds)
    if is_better:
        progress = replace(progress, best=value, best_epoch=epoch, validation=validation)
        save_weights(kept, folder / BEST)
    line = {"epoch": epoch, "learning_rate": rate, "loss": loss, "validation": validation, "best": is_better}
    append_log(folder, line | {"seconds": round(seconds, 1)})
    save_last(model, mean, optimizer, progress, folder / LAST)
    mark = " (best so far)" if is_better else ""
    note(f"{task.name}: epoch {epoch} of {task.config.epochs}, loss {loss:.4f}; validation: {_shown(validation)}{mark}")
    return progress


def _steps(
    task: Task[Model],
    model: Model,
    mean: AveragedModel | None,
    optimizer: torch.optim.Optimizer,
    epoch: int,
    random: np.random.Generator,
    device: torch.device,
) -> float:
    """One pass over the batches; the mean loss."""
    model.train()
    # Summed where the model is: asking for each value would make a GPU wait.
    total, count = torch.zeros((), device=device), 0
    with bar(f"epoch {epoch} of {task.config.epochs}", task.steps(), "batches") as show:
        for batch in task.batches(epoch, random):
            optimizer.zero_grad(set_to_none=True)
            loss = task.loss(model, _moved(batch, device))
            loss.backward()
            if task.config.clip:
                nn.utils.clip_grad_norm_(model.parameters(), task.config.clip)
            optimizer.step()
            if mean is not None:
                mean.update_parameters(model)
            total += loss.detach()
            count += 1
            show(count)
    if not count:
        raise DataError(f"{task.name}: there is nothing to train on")
    mean_loss = float(total) / count
    if not math.isfinite(mean_loss):
        raise CapevalError(f"epoch {epoch}: the loss is not finite. A smaller learning_rate may help")
    return mean_loss


def _moved(batch: Batch, device: torch.device) -> Batch:
    return {name: value.to(device, non_blocking=True) for name, value in batch.items()}


def _is_over(task: Task[Model], progress: Progress) -> bool:
    waited = progress.epoch - progress.best_epoch
    return progress.epoch >= task.config.epochs or 0 < task.config.patience <= waited


def _prepare(task: Task[Model], folder: Path, resume: bool) -> bool:
    """Makes the folder, or makes sure that what is in it is this training; whether there is something to go on from."""
    if (folder / CONFIG).is_file():
        if not resume:
            raise CheckpointError(f"{folder}: a training is here already. Go on with --resume, or name another folder")
        found = read_config_file(folder)
        _check_same(found, _config_content(task), config_to_dict(type(task.config)()), folder)
        started = (folder / LAST).is_file()
        # Without the last state the training would begin again, over what is there.
        if not started and ("files" in found or len(read_log(folder)) > 1):
            raise CheckpointError(f"{folder}: {LAST} is missing, so this training cannot go on. Name another folder")
        return started
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"cannot be made: {error.strerror}", file=str(folder)) from error
    for left in (BEST, LAST):
        if (folder / left).exists():
            raise CheckpointError(f"{folder}: there is a {left} but no {CONFIG}. Name another folder")
    write_json(folder / CONFIG, _config_content(task))
    return False


def _check_same(found: dict[str, Any], own: dict[str, Any], usual: dict[str, Any], folder: Path) -> None:
    """Going on with another config or other data would be neither the one training nor the other."""
    own = json.loads(json.dumps(own))
    if found["model"] != own["model"]:
        raise CheckpointError(f"{folder}: a training of {found['model']} is here. Name another folder")
    for what, name in (("config", "config"), ("data", "facts")):
        before, now = found.get(name, {}), own[name]
        if what == "config":
            before = usual | before  # a key that an older version did not have was as it is by default
        # Facts that an older version did not write down cannot be compared.
        keys = sorted(before.keys() - _MAY_CHANGE)
        changed = [
            f"{key} {before.get(key)!r}, not {now.get(key)!r}" for key in keys if before.get(key) != now.get(key)
        ]
        if changed:
            raise CheckpointError(f"{folder}: the training here has other {what}: {'; '.join(changed)}")


def _config_content(task: Task[Model]) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "model": task.name,
        "capeval": __version__,
        "config": config_to_dict(task.config),
        "facts": task.facts(),
    }


def _seed(task: Task[Model], epoch: int) -> int:
    return int(np.random.SeedSequence([task.config.seed, epoch]).generate_state(1, np.uint64)[0] >> 1)


def _device(name: str) -> torch.device:
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise CapevalError(f"there is no device {name!r} here: {str(error).splitlines()[0]}") from None
    return device


@contextmanager
def _torch_settings(threads: int, device: torch.device) -> Iterator[None]:
    """Threads and random state of torch are global; they are given back as they were."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        with torch.random.fork_rng([device] if device.type == "cuda" else []):
            yield
    finally:
        torch.set_num_threads(before)


def _shown(numbers: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.4f}" for name, value in numbers.items())
