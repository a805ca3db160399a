"""Benchmarks by name, and their files."""

from __future__ import annotations

import os
import pkgutil
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path

from capeval.bench import loaders
from capeval.bench.types import Benchmark, Form
from capeval.errors import CapevalError, DataError, UnknownName
from capeval.io.cache import sha256_of
from capeval.io.files import PathLike


@cache
def benchmarks() -> dict[str, Benchmark]:
    """All benchmarks by name; every module in `capeval.bench.loaders` is looked through."""
    found: dict[str, Benchmark] = {}
    for module in pkgutil.iter_modules(loaders.__path__):
        for value in vars(import_module(f"{loaders.__name__}.{module.name}")).values():
            if isinstance(value, Benchmark) and found.setdefault(value.name, value) is not value:
                raise CapevalError(f"two benchmarks are called {value.name!r}")
    return found


def benchmark(name: str) -> Benchmark:
    if name not in benchmarks():
        raise UnknownName("benchmark", name, benchmarks())
    return benchmarks()[name]


def data_root(data: PathLike | None = None) -> Path:
    """The folder that holds one folder for each data set: as given, else CAPEVAL_DATA, else ../shared/data."""
    root = Path(data or os.environ.get("CAPEVAL_DATA") or Path("..") / "shared")
    # A folder `data` beside others, such as `images`, is fine too.
    return root / "data" if (root / "data").is_dir() else root


def load(
    name: str, data: PathLike | None = None, variant: str | None = None, note: Callable[[str], None] = lambda text: None
) -> Form:
    """The human judgements of a benchmark. `note` is told of files that are not as they were published."""
    wanted, root = benchmark(name), data_root(data)
    if variant not in (None, *wanted.variants):
        if wanted.variants == ("",):
            raise CapevalError(f"{name} can be run in one way only: leave the variant {variant!r} out")
        raise UnknownName(f"{wanted.variant_key} of {name}", str(variant), wanted.variants)
    chosen = wanted.variants[0] if variant is None else variant
    missing = [source.path for source in wanted.needed(chosen) if not (root / source.path).is_file()]
    if missing:
        raise DataError(
            f"{name} needs files that are not there: {', '.join(missing)}. They are published at {wanted.published}. "
            "Put them into this folder, or name another one with --data or CAPEVAL_DATA",
            file=str(root),
        )
    for source in wanted.needed(chosen):
        if sha256_of(root / source.path) != source.sha256:
            note(f"{root / source.path} is not the published file (its checksum differs): the numbers may differ too.")
    return wanted.load(root, chosen)
