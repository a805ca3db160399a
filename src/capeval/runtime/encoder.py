"""From pictures to numbers: the encoders that capeval has, and how a picture is prepared for them."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Sequence
from functools import cache, cached_property
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from capeval import engine
from capeval.errors import CapevalError, DataError, MissingExtra, Unavailable, UnknownName
from capeval.io.assets import find_asset
from capeval.io.files import PathLike
from capeval.run import Run
from capeval.runtime.session import open_session, read_model
from capeval.types import Floats

Pixels = npt.NDArray[np.uint8]


class Known(NamedTuple):
    """One of our encoders. Its weights are the asset of its name, in a file `NAME.onnx`."""

    name: str
    side: int
    """Width and height, in pixels, of what it sees."""
    vector: int
    """Numbers in the vector of a picture."""
    grid: int
    """Regions in a row of the grid, and rows."""
    region: int
    """Numbers in the vector of a region."""
    licence: str
    sha256: str


_OURS = (
    Known(
        "dinov2-s", side=224, vector=768, grid=8, region=384, licence="Apache-2.0",
        sha256="6df67597c042d34cc86984b2c18abf0a4939d15f043f3e0d86879e9b129878e2",
    ),
    Known(
        "lite0", side=224, vector=1280, grid=7, region=1280, licence="Apache-2.0",
        sha256="7878a0d1b80f750f53c5d8ec23caed1a7f08868d98d1f4d3ee557d154c4b43b2",
    ),
)  # fmt: skip
ENCODERS = {known.name: known for known in _OURS}
"""The best one first; the last one is the quickest."""
ENTRY_POINTS = "capeval.encoders"
BATCH = 4
"""Pictures that go through the network together; larger batches leave the processor's cache and are slower."""
LARGEST_FILE = 1 << 28
MOST_PIXELS = 89_000_000
"""Where Pillow begins to warn: a small file may unpack into all memory there is."""
LONGEST_SIDE = 65_535
"""As in JPEG: a line of millions of pixels would need gigabytes while it is squeezed."""
_ORIENTATION = 0x0112  # in EXIF


class Sizes(NamedTuple):
    """What an encoder makes of a picture."""

    vector: int
    """Numbers in its vector."""
    regions: int
    """How many regions it has."""
    region: int
    """Numbers in the vector of a region."""


class Encoder:
    """A network that turns pictures into a vector and a grid of regions each.

    `source` is the name of an encoder or the path of an ONNX file with the same inputs and outputs as
    `tools/build_encoder.py` writes; without it, `default_encoder` is taken. Any number of threads may call `encode` at
    once; the numbers depend on the picture alone, not on threads or batches.
    """

    def __init__(self, source: PathLike | None = None, run: Run | None = None) -> None:
        source = default_encoder(run) if source is None else source
        path = Path(source)
        name, self._sha256 = path.stem, ""
        self._find: Callable[[], Path] = lambda: path
        if path.suffix != ".onnx":
            name = str(source)
            self._sha256, self._find = _named(name, run)
        digest = self._sha256 or hashlib.sha256(self._data).hexdigest()
        self.name = f"{name}/{digest[:12]}"
        """Who made the features: the name and the start of the weights' sha256. It is known of an encoder with a name
        before its file is needed, so that one that is not installed hinders nobody who does not use it."""

    @cached_property
    def path(self) -> Path:
        return self._find()

    @cached_property
    def _data(self) -> bytes:
        data = read_model(self.path)
        if self._sha256 not in ("", hashlib.sha256(data).hexdigest()):
            advice = "its checksum is not right. Install it again"
            raise DataError(f"the encoder {self.name} is damaged: {advice}", file=str(self.path))
        return data

    @cached_property
    def _session(self) -> Any:
        session = open_session(self._data)
        shapes = {each.name: each.shape for each in session.get_outputs()}
        (given,) = (each.shape for each in session.get_inputs()[:1])
        is_fixed = len(given) == 4 and given[1] == given[2] and given[3] == 3 and isinstance(given[1], int)
        vector, regions = shapes.get("vector", ()), shapes.get("regions", ())
        has_sizes = (len(vector), len(regions)) == (2, 3) and all(
            isinstance(n, int) for n in [*vector[1:], *regions[1:]]
        )
        if not (is_fixed and has_sizes):
            raise DataError("this model is not a picture encoder: see tools/build_encoder.py", file=str(self.path))
        return session

    @cached_property
    def side(self) -> int:
        """Width and height of what the network sees."""
        return int(self._session.get_inputs()[0].shape[1])

    @cached_property
    def sizes(self) -> Sizes:
        shapes = {each.name: each.shape for each in self._session.get_outputs()}
        return Sizes(int(shapes["vector"][1]), int(shapes["regions"][1]), int(shapes["regions"][2]))

    def boxes(self) -> Floats:
        """The place of each region: x0, y0, x1, y1 from 0 to 1, row by row from the top left; none without a grid."""
        side = round(self.sizes.regions**0.5)
        if side * side != self.sizes.regions:
            return np.empty((0, 4), np.float32)
        y, x = np.divmod(np.arange(side * side), side)
        return np.asarray(np.stack([x, y, x + 1, y + 1], axis=1) / side, np.float32)

    def encode(self, pixels: Pixels) -> tuple[Floats, Floats]:
        """Vectors [n, v] and regions [n, r, d] of prepared pictures [n, side, side, 3]."""
        name = self._session.get_inputs()[0].name
        vectors, regions = [], []
        for start in range(0, len(pixels), BATCH):
            each = self._session.run(["vector", "regions"], {name: pixels[start : start + BATCH]})
            vectors.append(each[0])
            regions.append(each[1])
        return np.concatenate(vectors), np.concatenate(regions)

    def encode_files(self, paths: Sequence[PathLike]) -> tuple[Floats, Floats]:
        """Vectors and regions of picture files."""
        return self.encode(np.stack([prepare(read_picture(path), self.side, str(path)) for path in paths]))


def encoder_names() -> list[str]:
    """The encoders that go by a name: ours, then those of other packages."""
    return [*ENCODERS, *_elsewhere()]


def default_encoder(run: Run | None = None) -> str:
    """The best of our encoders that is on this machine."""
    *better, last = ENCODERS
    return next((name for name in better if _is_here(name, run)), last)


def find_encoder(name: str, run: Run | None = None) -> Encoder | None:
    """The encoder that has made features under this name, such as `lite0/7878a0d1b80f`, if it is known."""
    source = name.partition("/")[0]
    encoder = Encoder(source, run) if source in encoder_names() else None
    return encoder if encoder and encoder.name == name else None


def _is_here(name: str, run: Run | None) -> bool:
    try:
        return find_asset(name, run).is_dir()
    except Unavailable:
        return False


def _named(name: str, run: Run | None) -> tuple[str, Callable[[], Path]]:
    """The sha256 of an encoder's file, and what finds the file."""
    if name in ENCODERS:
        return ENCODERS[name].sha256, lambda: find_asset(name, run) / f"{name}.onnx"
    entry = _elsewhere().get(name)
    if entry is None:
        raise UnknownName("encoder (or path of an .onnx file)", name, encoder_names())
    try:
        offered = entry.load()
        path, sha256 = offered() if callable(offered) else offered
    except Exception as problem:  # whatever another package does wrong
        raise CapevalError(f"the encoder {name!r} ({entry.value}) cannot be loaded: {problem}") from problem
    return str(sha256), lambda: Path(path)


@cache
def _elsewhere() -> dict[str, EntryPoint]:
    """Encoders of other packages: an entry point gives the path of an ONNX file and its sha256, or a function that
    gives both.
    """
    found: dict[str, EntryPoint] = {}
    for entry in entry_points(group=ENTRY_POINTS):
        if entry.name in ENCODERS or found.setdefault(entry.name, entry) is not entry:
            raise CapevalError(f"two encoders are called {entry.name!r}; the second is {entry.value}")
    return found


def require_pillow() -> None:
    try:
        import PIL  # noqa: F401
    except ImportError:
        raise MissingExtra("Reading pictures", "learned") from None


def read_picture(source: PathLike | bytes) -> bytes:
    """The bytes of a picture file; a picture that is there as bytes already is only checked."""
    name = picture_name(source)
    try:
        size = len(source) if isinstance(source, bytes) else Path(source).stat().st_size
        if not size:
            raise DataError("the file is empty", file=name)
        if size > LARGEST_FILE:
            raise DataError(f"the file has {size:,} bytes: too large for a picture", file=name)
        return source if isinstance(source, bytes) else Path(source).read_bytes()
    except OSError as problem:
        raise DataError(f"cannot be read: {problem.strerror}", file=name) from problem


def picture_name(source: PathLike | bytes) -> str:
    """What messages call a picture."""
    return "the picture" if isinstance(source, bytes) else str(source)


def prepare(data: bytes, side: int, name: str = "the picture") -> Pixels:
    """The whole picture, squeezed to a square."""
    # Our own bicubic: faster than Pillow's, whose bits depend on its version.
    squeezed: Pixels = engine.load().squeeze(decode(data, name), side)
    return squeezed


def decode(data: bytes, name: str = "the picture") -> Pixels:
    """The picture upright, in RGB, [height, width, 3].

    Of an animation the first frame counts; what is transparent becomes white.
    """
    require_pillow()
    from PIL import Image, ImageOps, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(data)) as picture:
            if picture.width * picture.height > MOST_PIXELS or max(picture.size) > LONGEST_SIDE:
                raise Image.DecompressionBombError
            picture.load()
            # Both copy a picture that is fine as it is.
            upright = picture if picture.getexif().get(_ORIENTATION, 1) == 1 else ImageOps.exif_transpose(picture)
            ready = upright if upright.mode == "RGB" and "transparency" not in upright.info else _rgb(upright)
            return np.asarray(ready)
    except UnidentifiedImageError:
        raise DataError("this is not a picture, or of a kind that Pillow cannot read", file=name) from None
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise DataError("the picture has too many pixels; make it smaller", file=name) from None
    except Exception as problem:  # decoders raise OSError, SyntaxError, ValueError, struct.error and more
        raise DataError(f"the picture is damaged: {problem}", file=name) from problem


def _rgb(picture: Any) -> Any:
    from PIL import Image

    if picture.mode.startswith("I;16") or picture.mode in ("I", "F"):
        values = np.asarray(picture, np.float32)
        # Files with more than 8 bits a pixel use 16; Pillow's own conversion would cut them off at 255.
        top = 255.0 if values.max() <= 255 else 65535.0
        return Image.fromarray((values.clip(0, top) / top * 255).round().astype(np.uint8)).convert("RGB")
    if picture.mode in ("RGBA", "LA", "PA", "RGBa", "La") or "transparency" in picture.info:
        whole = picture.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", whole.size, "white"), whole).convert("RGB")
    return picture.convert("RGB")
