"""Two hundred odd and damaged pictures: each is encoded, or left out by name; nothing else happens."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from capeval.io.features import open_features
from capeval.run import Run
from capeval.runtime.encoder import Encoder
from capeval.runtime.extract import extract

pytest.importorskip("onnxruntime")
Image = pytest.importorskip("PIL.Image")

EACH = 5
"""Pictures of a kind, which differ in size and content."""

Random = np.random.Generator


def drawn(random: Random, mode: str = "RGB") -> Any:
    """A few boxes of colour with some noise."""
    height, width = random.integers(30, 200, 2)
    pixels = np.full((height, width, 3), random.integers(0, 256, 3))
    for _ in range(4):
        y, x = random.integers(0, height), random.integers(0, width)
        pixels[y : y + 40, x : x + 60] = random.integers(0, 256, 3)
    return Image.fromarray((pixels + random.normal(0, 8, pixels.shape)).clip(0, 255).astype(np.uint8)).convert(mode)


def packed(picture: Any, kind: str, **options: Any) -> bytes:
    stream = io.BytesIO()
    picture.save(stream, kind, **options)
    return stream.getvalue()


def of_mode(mode: str, kind: str, **options: Any) -> Callable[[Random], bytes]:
    return lambda random: packed(drawn(random, mode), kind, **options)


def of_size(width: int, height: int) -> Callable[[Random], bytes]:
    return lambda random: packed(drawn(random).resize((width, height)), "PNG")


def of_numbers(dtype: str, top: float, kind: str) -> Callable[[Random], bytes]:
    return lambda random: packed(Image.fromarray((random.random((50, 70)) * top).astype(dtype)), kind)


def animated(kind: str) -> Callable[[Random], bytes]:
    def make(random: Random) -> bytes:
        frames = [drawn(random).resize((64, 48)) for _ in range(4)]
        return packed(frames[0], kind, save_all=True, append_images=frames[1:])

    return make


def turned(random: Random) -> bytes:
    exif = Image.Exif()
    exif[0x0112] = int(random.integers(2, 9))
    return packed(drawn(random), "JPEG", exif=exif.tobytes())


def with_false_exif(random: Random) -> bytes:
    return packed(drawn(random), "JPEG", exif=b"Exif\0\0" + random.bytes(40))


def palette(random: Random) -> bytes:
    return packed(drawn(random).quantize(9), "PNG", transparency=3)


def cut(kind: str, most: float = 0.9) -> Callable[[Random], bytes]:
    def make(random: Random) -> bytes:
        data = packed(drawn(random), kind)
        return data[: int(len(data) * random.uniform(0.02, most))]

    return make


def declared(width: int, height: int) -> Callable[[Random], bytes]:
    """A PNG of a few bytes that says it has so many pixels."""

    def make(random: Random) -> bytes:
        head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
        parts = [(b"IHDR", head), (b"IDAT", zlib.compress(random.bytes(9))), (b"IEND", b"")]
        chunks = [struct.pack(">I", len(d)) + n + d + struct.pack(">I", zlib.crc32(n + d)) for n, d in parts]
        return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)

    return make


def changed(kind: str) -> Callable[[Random], bytes]:
    """Some bytes are others: decoders notice it or not."""

    def make(random: Random) -> bytes:
        data = bytearray(packed(drawn(random), kind))
        for place in random.integers(2, len(data), 12):
            data[place] = random.integers(0, 256)
        return bytes(data)

    return make


GOOD: dict[str, Callable[[Random], bytes]] = {
    "one-pixel.png": of_size(1, 1),
    "a-line.png": of_size(1, 3000),
    "a-row.png": of_size(5000, 2),
    "grey.jpg": of_mode("L", "JPEG"),
    "ink.jpg": of_mode("CMYK", "JPEG"),
    "ink.tif": of_mode("CMYK", "TIFF"),
    "bits.png": of_mode("1", "PNG"),
    "clear.png": of_mode("RGBA", "PNG"),
    "clear-grey.png": of_mode("LA", "PNG"),
    "few-colours.png": palette,
    "luminance.tif": of_mode("YCbCr", "TIFF"),
    "progressive.jpg": of_mode("RGB", "JPEG", progressive=True, quality=5),
    "really-a-png.jpg": of_mode("RGB", "PNG"),
    "really-a-jpeg.png": of_mode("RGB", "JPEG"),
    "deep.png": of_numbers("uint16", 65535, "PNG"),
    "deep.tif": of_numbers("uint16", 65535, "TIFF"),
    "real-numbers.tif": of_numbers("float32", 255, "TIFF"),
    "moving.gif": animated("GIF"),
    "moving.webp": animated("WEBP"),
    "turned.jpg": turned,
    "false-exif.jpg": with_false_exif,
    "more-behind.jpg": lambda random: packed(drawn(random), "JPEG") + random.bytes(5000),
}
BAD: dict[str, Callable[[Random], bytes]] = {
    "empty.jpg": lambda random: b"",
    "zeros.jpg": lambda random: bytes(int(random.integers(1, 9999))),
    "noise.png": lambda random: random.bytes(int(random.integers(1, 9999))),
    "text.jpg": lambda random: b"404 not found\n" * int(random.integers(1, 99)),
    "page.gif": lambda random: b"<!DOCTYPE html><html><body>Log in</body></html>",
    "only-a-head.png": lambda random: b"\x89PNG\r\n\x1a\n",
    "only-a-head.jpg": lambda random: b"\xff\xd8\xff\xe0\x00\x10JFIF\x00",
    "cut.jpg": cut("JPEG"),
    "cut.png": cut("PNG"),
    "cut.webp": cut("WEBP"),
    "cut.tif": cut("TIFF"),
    "huge.png": declared(60_000, 60_000),
    "endless-line.png": declared(1, 80_000_000),
    "nothing-in-it.png": declared(0, 40),
    "less-than-declared.png": declared(900, 900),
}
EITHER: dict[str, Callable[[Random], bytes]] = {
    "changed.jpg": changed("JPEG"),
    "changed.png": changed("PNG"),
    "changed.gif": changed("GIF"),
}


def test_two_hundred_odd_pictures(tmp_path: Path) -> None:
    kinds = GOOD | BAD | EITHER
    assert EACH * len(kinds) == 200
    paths: dict[str, Path] = {}
    for number, (name, make) in enumerate(kinds.items()):
        for i in range(EACH):
            path = tmp_path / f"{i}-{name}"
            path.write_bytes(make(np.random.default_rng([number, i])))
            paths[path.name] = path
    run, output = Run(threads=2), tmp_path / "odd.features"
    done = extract(paths, output, encoder=Encoder("dinov2-s"), regions=True, on_error="skip", run=run)
    assert done.added + len(done.bad) == 200
    named = {name for name in paths for problem in done.bad if str(paths[name]) in problem}
    assert len(named) == len(done.bad)
    must_be_bad = {f"{i}-{name}" for name in BAD for i in range(EACH)}
    may_be_bad = must_be_bad | {f"{i}-{name}" for name in EITHER for i in range(EACH)}
    assert must_be_bad <= named <= may_be_bad
    features = open_features(output)
    assert set(features.ids) == paths.keys() - named
    lengths = np.linalg.norm(features.vectors(features.ids), axis=1)
    assert 10 < lengths.min() < lengths.max() < 100, "finite, and of the usual size"
    assert features.regions(features.ids[:3]).shape == (3, 64, 384)
