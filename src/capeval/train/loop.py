"""The training loop that all models share.

The draws of an epoch depend on the seed and on the epoch's number alone. So nothing random has to be stored, and a
training that was killed goes on from its last whole epoch as if nothing had happened.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from capeval.errors import CapevalError, CheckpointError, DataError
from capeval.io.files import writing
from capeval.run import Progress, Run
from capeval.runtime.checkpoint import CONFIG, FORMAT, LOG, PROBE, read_config_file
from capeval.train.checkpoint import (
    BEST,
    LAST,
    Reached,
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
from capeval.train.facts import facts_of
from capeval.train.task import Batch, Model, Task
from capeval.version import __version__

_MAY_CHANGE = {"epochs", "patience"}


def train(
    task: Task[Model],
    folder: str | os.PathLike[str],
    *,
    resume: bool = False,
    device: str = "auto",
    run: Run | None = None,
) -> Path:
    """Trains until the epochs are over or patience is, and writes the checkpoint; returns its folder.

    Without a run there is one thread: their number changes the last digits of the weights.
    """
    run, place = run or Run(threads=1), Path(folder)
    model, reached = fit(task, place, resume=resume, device=device, run=run)
    with torch_settings(run.threads):
        finish(task, model, reached, place)
    numbers = f" ({_shown(reached.validation)})" if reached.validation else ""
    run.progress.note(f"{task.name}: best epoch {reached.best_epoch} of {reached.epoch}{numbers}: {place}")
    return place


def fit(
    task: Task[Model], folder: Path, *, resume: bool = False, device: str = "auto", run: Run | None = None
) -> tuple[Model, Reached]:
    """Like `train`, but nothing is exported: the model with its best weights, ready to be used, and how far it came."""
    run = run or Run(threads=1)
    chosen = _device(device)
    started = _prepare(task, folder, resume)
    with torch_settings(run.threads, chosen):
        torch.manual_seed(_seed(task, 0))
        model = task.build().to(chosen)
        mean = _mean(model, task.config.average)
        optimizer = task.optimizer(model)
        reached = Reached()
        if started:
            reached = load_last(model, mean, optimizer, folder / LAST)
            run.progress.note(f"{task.name}: going on after epoch {reached.epoch}")
        write_json(folder / CONFIG, _config_content(task))  # not finished, until it is again
        while not _is_over(task, reached):
            reached = _epoch(task, model, mean, optimizer, reached, folder, chosen, run.progress)
    if reached.validation is None:
        raise CapevalError("no epoch was trained")
    model.to("cpu")
    load_weights(model, folder / BEST)
    return model.eval(), reached


def finish(task: Task[Model], model: Model, reached: Reached, folder: Path) -> None:
    """Exports the model and completes the checkpoint."""
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
    done = {"epoch": reached.best_epoch, "epochs": reached.epoch, "seconds": round(reached.seconds, 1)}
    content = _config_content(task) | {
        "trained": done | {"validation": reached.validation},
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
    reached: Reached,
    folder: Path,
    device: torch.device,
    progress: Progress,
) -> Reached:
    epoch, begin = reached.epoch + 1, time.monotonic()
    torch.manual_seed(_seed(task, epoch))
    random = np.random.default_rng([task.config.seed, epoch])
    rate = task.config.learning_rate * task.config.decay ** (epoch - 1)
    for group in optimizer.param_groups:
        group["lr"] = rate * group.get("factor", 1.0)
    loss = _steps(task, model, mean, optimizer, epoch, random, device, progress)
    kept = model if mean is None else cast(Model, mean.module)  # a copy of the model
    validation = _validation(task, kept, epoch)
    is_better = _is_better(task, validation, reached)
    seconds = time.monotonic() - begin
    reached = replace(reached, epoch=epoch, seconds=reached.seconds + seconds)
    if is_better:
        best = validation[task.monitor] if task.monitor else None
        reached = replace(reached, best=best, best_epoch=epoch, validation=validation)
        save_weights(kept, folder / BEST)
    line = {"epoch": epoch, "learning_rate": rate, "loss": loss, "validation": validation, "best": is_better}
    append_log(folder, line | {"seconds": round(seconds, 1)})
    save_last(model, mean, optimizer, reached, folder / LAST)
    numbers = f"; validation: {_shown(validation)}" if validation else ""
    mark = " (best so far)" if is_better and task.monitor else ""
    progress.note(f"{task.name}: epoch {epoch} of {task.config.epochs}, loss {loss:.4f}{numbers}{mark}")
    return reached


def _validation(task: Task[Model], model: Model, epoch: int) -> dict[str, float]:
    if not task.monitor:
        return {}
    model.eval()
    with torch.no_grad():
        found = {name: float(value) for name, value in task.validate(model).items()}
    if not all(map(math.isfinite, found.values())):
        raise CapevalError(f"epoch {epoch}: the validation is not finite: {_shown(found)}")
    return found


def _is_better(task: Task[Model], validation: dict[str, float], reached: Reached) -> bool:
    if not task.monitor or reached.best is None:
        return True
    value = validation[task.monitor]
    return value > reached.best if task.better == "max" else value < reached.best


def _steps(
    task: Task[Model],
    model: Model,
    mean: AveragedModel | None,
    optimizer: torch.optim.Optimizer,
    epoch: int,
    random: np.random.Generator,
    device: torch.device,
    progress: Progress,
) -> float:
    """One pass over the batches; the mean loss."""
    model.train()
    # Summed where the model is: asking for each value would make a GPU wait.
    total, count = torch.zeros((), device=device), 0
    with progress.bar(f"epoch {epoch} of {task.config.epochs}", task.steps(), "batches") as show:
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


def _is_over(task: Task[Model], reached: Reached) -> bool:
    waited = reached.epoch - reached.best_epoch
    return reached.epoch >= task.config.epochs or 0 < task.config.patience <= waited


def _prepare(task: Task[Model], folder: Path, resume: bool) -> bool:
    """Makes the folder, or makes sure that what is in it is this training; whether there is something to go on from."""
    if (folder / CONFIG).is_file():
        if not resume:
            raise CheckpointError(f"{folder}: a training is here already", remedy="training_there")
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
        # Facts that another version did not write down cannot be compared.
        keys = sorted((before.keys() if what == "config" else before.keys() & now.keys()) - _MAY_CHANGE)
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
        "facts": facts_of(task),
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
def torch_settings(threads: int, device: torch.device | None = None) -> Iterator[None]:
    """Threads and random state of torch are global; they are given back as they were."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        with torch.random.fork_rng([device] if device is not None and device.type == "cuda" else []):
            yield
    finally:
        torch.set_num_threads(before)


def _shown(numbers: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.4f}" for name, value in numbers.items())
