"""One package for each model that can be trained, found by its name.

Its `__init__` says where its config and its task are, and imports neither: most of what is beside them needs no torch.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module
from typing import TYPE_CHECKING, Any

from capeval.errors import MissingExtra, UnknownName

if TYPE_CHECKING:
    from capeval.train.config import TrainConfig


def task_names() -> list[str]:
    return sorted(module.name.replace("_", "-") for module in pkgutil.iter_modules(__path__))


def config_named(name: str) -> type[TrainConfig]:
    """The class of the config, which needs no torch."""
    if name not in task_names():
        raise UnknownName("model to train", name, task_names())
    package = f"{__name__}.{name.replace('-', '_')}"
    found: type[TrainConfig] = pkgutil.resolve_name(f"{package}.{import_module(package).CONFIG}")
    return found


def task_named(name: str) -> tuple[type[TrainConfig], Any]:
    """The config's class, and what makes the task from a config and `Inputs`."""
    config = config_named(name)
    package = f"{__name__}.{name.replace('-', '_')}"
    try:
        task = pkgutil.resolve_name(f"{package}.{import_module(package).TASK}")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in ("torch", "safetensors", "onnx", "tomli"):
            raise MissingExtra("training", "train") from error
        raise
    return config, task
