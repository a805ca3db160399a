"""Benchmarks by name, and their files.

Every module in `capeval.bench.loaders` is looked through for benchmarks, so a new one needs no entry anywhere; other
packages name theirs in the entry-point group `capeval.benchmarks`.
"""

from __future__ import annotations

import os
import pkgutil
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path

from capeval.bench import loaders
from capeval.bench.benchmark import Benchmark
from capeval.bench.forms import Form
from capeval.bench.own import is_own, own_benchmark
from capeval.errors import CapevalError, DataError, UnknownName
from capeval.io.cache import sha256_of
from capeval.io.files import PathLike
from capeval.run import Run

ENTRY_POINTS = "capeval.benchmarks"


@cache
def benchmarks() -> dict[str, Benchmark]:
    """All benchmarks by name: ours, then those of other packages."""
    found: dict[str, Benchmark] = {}
    for each in [*_ours(), *_from_elsewhere()]:
        if found.setdefault(each.name, each) is not each:
            raise CapevalError(f"two benchmarks are called {each.name!r}")
    return found


def _ours() -> list[Benchmark]:
    modules = [import_module(f"{loaders.__name__}.{each.name}") for each in pkgutil.iter_modules(loaders.__path__)]
    return [value for module in modules for value in vars(module).values() if isinstance(value, Benchmark)]


def _from_elsewhere() -> list[Benchmark]:
    found = []
    for entry in entry_points(group=ENTRY_POINTS):
        try:
            value = entry.load()
        except Exception as problem:  # whatever another package does wrong when it is imported
            raise CapevalError(f"the benchmark {entry.name!r} ({entry.value}) cannot be loaded: {problem}") from problem
        if not isinstance(value, Benchmark):
            raise CapevalError(f"{entry.value} is offered as a benchmark, but is no capeval.bench.Benchmark")
        found.append(value)
    return found


def benchmark(name: str, human: str | None = None) -> Benchmark:
    """By its name, or a user's own by the name of its file, whose field `human` has people's judgement."""
    if is_own(name):
        return own_benchmark(name, human)
    if name not in benchmarks():
        raise UnknownName("benchmark", name, benchmarks())
    return benchmarks()[name]


def data_root(data: PathLike | None = None) -> Path:
    """The folder that holds one folder for each data set: as given, else CAPEVAL_DATA, else ../shared/data."""
    root = Path(data or os.environ.get("CAPEVAL_DATA") or Path("..") / "shared")
    # A folder `data` beside others, such as `images`, is fine too.
    return root / "data" if (root / "data").is_dir() else root


def missing_files(wanted: Benchmark, data: PathLike | None = None) -> list[str]:
    """The files of the usual variants that are not there, below the root of all data."""
    root = data_root(data)
    needed = dict.fromkeys(source for variant in wanted.default_variants for source in wanted.to_read(root, variant))
    return [source.path for source in needed if not (root / source.path).is_file()]


def load(
    name: str,
    data: PathLike | None = None,
    variant: str | None = None,
    run: Run | None = None,
    human: str | None = None,
) -> Form:
    """The human judgements of a benchmark. Files that are not as they were published are told in a note.

    `human` names the kind of judgement where people gave several, such as `precision`.
    """
    wanted, root, run = benchmark(name, human), data_root(data), run or Run()
    if variant not in (None, *wanted.variants):
        if wanted.variants == ("",):
            raise CapevalError(f"{name} can be run in one way only: leave the variant {variant!r} out")
        raise UnknownName(f"{wanted.variant_key} of {name}", str(variant), wanted.variants)
    chosen = wanted.variants[0] if variant is None else variant
    files = wanted.to_read(root, chosen)
    missing = [source.path for source in files if not (root / source.path).is_file()]
    if missing:
        own = ", ".join(source.path for source in wanted.originals if not source.variants or chosen in source.variants)
        raise DataError(
            f"{name} needs files that are not there: {', '.join(missing)}"
            + (f"; or, as their authors publish them, {own}" if own else "")
            + f". They are published at {wanted.published}. "
            "Put them into this folder, or name another one (`data`, or CAPEVAL_DATA)",
            file=str(root),
        )
    for source in files:
        if source.sha256 and sha256_of(root / source.path) != source.sha256:
            run.progress.note(
                f"{root / source.path} is not the published file (its checksum differs): the numbers may differ too."
            )
    form = wanted.load(root, chosen, run)
    return form if human is None else form.judged_by(human)
