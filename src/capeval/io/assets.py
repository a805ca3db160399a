"""Weights and data that do not fit the package: which there are, where they are looked for, and fetching them.

An asset is a folder, called by its name, in one of these places, the first that has it:
    the cache                  where `capeval data fetch NAME` puts it
    $CAPEVAL_ASSETS            a folder that several machines or users may share
    installed packages         those with an entry point in the group `capeval.assets`, such as capeval-models; it names
                               a module whose folder holds the assets, or a function that gives the folder's path
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import IO
from urllib.parse import quote

import msgspec

from capeval.errors import CapevalError, DataError, Unavailable, UnknownName, install_command
from capeval.io.cache import built_once, sha256_of
from capeval.io.shipped import shipped
from capeval.run import Run

ENTRY_POINTS = "capeval.assets"
VARIABLE = "CAPEVAL_ASSETS"


class AssetFile(msgspec.Struct, frozen=True):
    """A file as it is fetched."""

    name: str
    sha256: str
    size: int


class Asset(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line of the table."""

    name: str
    kind: str
    """encoder, checkpoint, paraphrases or grammar."""
    licence: str
    files: tuple[AssetFile, ...]
    kept_as: str = ""
    """The file that is kept, where it is made of the fetched one."""
    url: str = ""
    """Where the files lie on a public server, if they do."""
    extra: str = ""
    """The extra of capeval whose packages hold it."""

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)

    @property
    def kept(self) -> tuple[str, ...]:
        """The files that its folder must have."""
        return (self.kept_as,) if self.kept_as else tuple(file.name for file in self.files)


@cache
def assets() -> dict[str, Asset]:
    """The assets that capeval knows, by name. `tools/build_assets.py` writes the table."""
    table = msgspec.json.decode(shipped("assets.json").read_bytes(), type=list[Asset])
    return {asset.name: asset for asset in table}


def find_asset(name: str, run: Run | None = None) -> Path:
    """The folder of an asset; raises Unavailable with what to do where it is not on this machine."""
    for place in places(run):
        if _is_complete(place / name):
            return place / name
    raise Unavailable(_missing(known_asset(name)))


def known_asset(name: str) -> Asset:
    if name not in assets():
        raise UnknownName("asset", name, assets())
    return assets()[name]


def installed_assets(run: Run | None = None) -> dict[str, Path]:
    """The folders of all assets on this machine, by name; other packages may hold some that are not in the table."""
    found: dict[str, Path] = {}
    for place in places(run):
        for folder in sorted(place.iterdir()) if place.is_dir() else []:
            if folder.is_dir() and folder.name[0] not in "._" and _is_complete(folder):
                found.setdefault(folder.name, folder)
    return found


def places(run: Run | None = None) -> list[Path]:
    """The folders in which assets are looked for, in their order."""
    chosen = os.environ.get(VARIABLE)
    shared = [Path(chosen).expanduser()] if chosen else []
    return [(run or Run()).cache / "assets", *shared, *_companions()]


def place_in_cache(name: str, run: Run | None = None) -> Path:
    """The folder that an asset has in the cache, or will have."""
    return (run or Run()).cache / "assets" / name


def _is_complete(folder: Path) -> bool:
    """Whether all files are there; fetching may have been broken off."""
    asset = assets().get(folder.name)
    return folder.is_dir() if asset is None else all((folder / name).is_file() for name in asset.kept)


def _missing(asset: Asset) -> str:
    ways = [install_command(asset.extra)] if asset.extra else []
    ways += [f"`capeval data fetch {asset.name}`" + ("" if asset.url else " with the address of a mirror")]
    problems = "".join(f". {problem}" for problem in _broken_companions())
    size = f"{asset.size / 1e6:.1f} MB"
    return f"{asset.name} ({asset.kind}, {size}) is not on this machine. Get it by {' or '.join(ways)}{problems}"


# --- packages that hold assets ---


def _companions() -> list[Path]:
    return [found for found in _offered() if isinstance(found, Path)]


def _broken_companions() -> list[str]:
    return [found for found in _offered() if isinstance(found, str)]


@cache
def _offered() -> list[Path | str]:
    """The folder of each package, or what is wrong with it: one that is broken must not hide the others."""
    found: list[Path | str] = []
    for entry in entry_points(group=ENTRY_POINTS):
        try:
            found.append(_folder(entry))
        except Exception as problem:  # whatever another package does wrong when it is imported
            found.append(f"The assets of {entry.name} ({entry.value}) cannot be used: {problem}")
    return found


def _folder(entry: EntryPoint) -> Path:
    value = entry.load()
    folder = Path(value() if callable(value) else value.__path__[0])
    if not folder.is_dir():
        raise CapevalError(f"{folder} is not a folder")
    return folder


# --- fetching ---


def fetch_asset(name: str, mirror: str = "", run: Run | None = None, *, pause: float = 1.0) -> Path:
    """Fetches an asset into the cache, file by file; returns its folder there.

    `mirror` is the address of a folder that holds the asset's folder. Files that are there already are kept, and one
    that was broken off is gone on with. `pause` is the time in seconds before a broken connection is tried again; it
    doubles each time.
    """
    run, asset = run or Run(), known_asset(name)
    address = f"{mirror.rstrip('/')}/{quote(name)}" if mirror else asset.url
    if not address:
        raise Unavailable(_missing(asset))
    folder, done = place_in_cache(name, run), 0
    with run.progress.bar(f"fetching {name}", asset.size, "bytes") as show:
        for file in asset.files:
            _fetch_file(f"{address}/{quote(file.name)}", file, folder, _shifted(show, done), pause)
            done += file.size
            show(done)
    return folder


def _shifted(show: Callable[[int], None], before: int) -> Callable[[int], None]:
    return lambda done: show(before + done)


def _fetch_file(url: str, file: AssetFile, folder: Path, show: Callable[[int], None], pause: float) -> None:
    from capeval.io.download import download

    part = folder / f".{file.name}.part"

    def build(stream: IO[bytes]) -> None:
        download(url, part, file.size, show, pause)
        if sha256_of(part) != file.sha256:
            part.unlink()
            raise DataError("what the server sent is damaged, or another version: its checksum is not right", file=url)
        with part.open("rb") as content:
            shutil.copyfileobj(content, stream)
        part.unlink()

    built_once(folder / file.name, lambda path: path.is_file() and sha256_of(path) == file.sha256, build)
