"""The encoder, and how pictures of all kinds are prepared for it."""

from __future__ import annotations

import io
import struct
import sys
import zlib
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from capeval.errors import CapevalError, DataError, MissingExtra, Unavailable, UnknownName
from capeval.io.cache import sha256_of
from capeval.run import Run
from capeval.runtime import encoder as module
from capeval.runtime.encoder import Encoder, prepare, read_picture
from capeval.runtime.pictures import PictureFiles
from capeval.runtime.session import open_session

pytest.importorskip("onnxruntime")
Image = pytest.importorskip("PIL.Image")


def drawn(width: int = 320, height: int = 200) -> Any:
    """A red sun over a green field, with a white house."""
    y, x = np.mgrid[0:height, 0:width]
    pixels = np.empty((height, width, 3), np.uint8)
    pixels[...] = np.stack([80 + x * 40 // width, 120 + y * 60 // height, 220 - y * 80 // height], axis=-1)
    pixels[y > 0.6 * height] = (40, 140, 50)
    pixels[(x - 0.7 * width) ** 2 + (y - 0.25 * height) ** 2 < (0.12 * height) ** 2] = (220, 40, 30)
    pixels[(abs(x - 0.3 * width) < 0.1 * width) & (abs(y - 0.6 * height) < 0.12 * height)] = (250, 250, 245)
    return Image.fromarray(pixels)


def packed(picture: Any, kind: str = "PNG", **options: Any) -> bytes:
    stream = io.BytesIO()
    picture.save(stream, kind, **options)
    return stream.getvalue()


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return Encoder("lite0")


@pytest.fixture(scope="module", params=module.ENCODERS)
def each_encoder(request: pytest.FixtureRequest) -> Encoder:
    return Encoder(request.param)


def test_the_quick_encoder_gives_recorded_numbers(encoder: Encoder) -> None:
    vectors, regions = encoder.encode(prepare(packed(drawn()), encoder.side)[None])
    assert (vectors.shape, regions.shape, encoder.sizes) == ((1, 1280), (1, 49, 1280), (1280, 49, 1280))
    assert encoder.name == "lite0/7878a0d1b80f"
    assert np.allclose(regions.mean(axis=1), vectors, atol=1e-5)
    recorded = {257: 2.4781, 787: 0.6038, 897: 3.3554, 1053: 0.3271, 1157: 1.6371, 1178: 0.9772}
    assert vectors[0, list(recorded)].tolist() == pytest.approx(list(recorded.values()), rel=1e-3)
    assert float(np.linalg.norm(vectors)) == pytest.approx(15.0023, rel=1e-3)


def test_numbers_depend_on_the_picture_alone(each_encoder: Encoder) -> None:
    encoder = each_encoder
    pixels = np.random.default_rng(0).integers(0, 256, (9, 224, 224, 3)).astype(np.uint8)
    together = encoder.encode(pixels)
    for i in (0, 4, 8):
        alone = encoder.encode(pixels[i : i + 1])
        assert np.array_equal(alone[0][0], together[0][i])
        assert np.array_equal(alone[1][0], together[1][i])


def test_regions_are_in_reading_order(each_encoder: Encoder) -> None:
    encoder = each_encoder
    grey = np.full((224, 224, 3), 127, np.uint8)
    changed = np.repeat(grey[None], 3, axis=0)
    noise = np.random.default_rng(0).integers(0, 256, (32, 32, 3))
    changed[1, :32, 192:] = noise  # top right
    changed[2, 192:, :32] = noise  # bottom left
    _, regions = encoder.encode(changed)
    moved = [int(np.linalg.norm(regions[i] - regions[0], axis=1).argmax()) for i in (1, 2)]
    side = round(len(encoder.boxes()) ** 0.5)
    assert encoder.boxes()[side - 1].tolist() == pytest.approx([1 - 1 / side, 0, 1, 1 / side])
    (right, top), (left, bottom) = ((box[:2] + box[2:]) / 2 for box in encoder.boxes()[moved])
    assert min(right, bottom) > 0.6
    assert max(left, top) < 0.4


def near(data: bytes, wanted: Any, tolerance: float = 3) -> None:
    found = prepare(data, 64).astype(int)
    assert found.shape == (64, 64, 3)
    assert (
        np.abs(found - np.asarray(wanted.convert("RGB").resize((64, 64), Image.Resampling.BICUBIC))).mean() < tolerance
    )


def test_kinds_of_pictures() -> None:
    whole = drawn()
    near(packed(whole), whole, 0.01)
    near(packed(whole, "JPEG", quality=95), whole)
    near(packed(whole.convert("CMYK"), "JPEG", quality=95), whole)
    near(packed(whole.quantize(32)), whole, 6)
    near(packed(whole, "GIF"), whole, 6)
    near(packed(whole, "GIF", save_all=True, append_images=[Image.new("RGB", whole.size)]), whole, 6)
    near(packed(whole, "WEBP", lossless=True), whole, 0.01)
    near(packed(whole, "TIFF"), whole, 0.01)
    near(packed(whole.convert("L")), whole.convert("L"), 0.01)
    near(packed(whole.convert("1")), whole.convert("1"), 0.01)


def test_sixteen_bits_are_not_cut_off() -> None:
    grey = np.asarray(drawn().convert("L")).astype(np.uint16)
    near(packed(Image.fromarray(grey * 257)), drawn().convert("L"), 1)


def test_what_is_transparent_is_white() -> None:
    clear = drawn().convert("RGBA")
    clear.putalpha(0)
    assert (prepare(packed(clear), 8) == 255).all()
    palette = Image.new("P", (8, 8), 0)
    assert (prepare(packed(palette, transparency=0), 8) == 255).all()


def test_pictures_are_turned_upright() -> None:
    whole = drawn()
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by 90 degrees clockwise
    near(packed(whole.rotate(90, expand=True), "JPEG", quality=95, exif=exif.tobytes()), whole)


def bomb(width: int = 40_000, height: int = 40_000) -> bytes:
    """A PNG of a few bytes that says it has so many pixels."""
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = [(b"IHDR", head), (b"IDAT", zlib.compress(b"")), (b"IEND", b"")]
    chunks = [struct.pack(">I", len(d)) + n + d + struct.pack(">I", zlib.crc32(n + d)) for n, d in parts]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


BROKEN = {
    "no picture": (b"<html>not found</html>", "not a picture"),
    "half a JPEG": (lambda: packed(drawn(), "JPEG")[:3000], "damaged.*truncated"),
    "half a PNG": (lambda: packed(drawn())[:900], "damaged"),
    "too many pixels": (bomb, "too many pixels"),
    "a line": (lambda: bomb(1, 80_000_000), "too many pixels"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_pictures_are_named(name: str) -> None:
    data, message = BROKEN[name]
    with pytest.raises(DataError, match=message) as caught:
        prepare(data() if callable(data) else data, 224, "holiday.jpg")  # type: ignore[arg-type]
    assert "holiday.jpg" in str(caught.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "empty.jpg").touch()
    with pytest.raises(DataError, match="empty"):
        read_picture(tmp_path / "empty.jpg")
    with pytest.raises(DataError, match="cannot be read"):
        read_picture(tmp_path / "none.jpg")


def test_unknown_and_wrong_encoders(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="lite0"):
        Encoder("lite1")
    with pytest.raises(DataError, match="cannot be read"):
        Encoder(tmp_path / "none.onnx")
    (tmp_path / "x.onnx").write_bytes(b"not a model")
    with pytest.raises(DataError, match="not a model"):
        _ = Encoder(tmp_path / "x.onnx").side


def test_an_encoder_of_ones_own(tmp_path: Path, encoder: Encoder) -> None:
    (tmp_path / "mine.onnx").write_bytes(encoder.path.read_bytes())
    assert Encoder(tmp_path / "mine.onnx").name == "mine/7878a0d1b80f"


def test_a_session_checks_its_file(encoder: Encoder) -> None:
    with pytest.raises(DataError, match="checksum"):
        open_session(encoder.path, sha256="0" * 64)


def test_missing_packages_are_told(monkeypatch: pytest.MonkeyPatch, encoder: Encoder) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtra, match=r"pip install .*\[learned\]"):
        open_session(encoder.path)
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(MissingExtra, match=r"\[learned\]"):
        prepare(b"", 224)


@pytest.fixture
def offer(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Encoders of other packages: entry points by name."""

    def call(**values: str) -> None:
        found = [EntryPoint(name, value, module.ENTRY_POINTS) for name, value in values.items()]
        monkeypatch.setattr(module, "entry_points", lambda group: found)
        module._elsewhere.cache_clear()

    yield call
    module._elsewhere.cache_clear()


def test_an_encoder_of_another_package(
    offer: Callable[..., None], encoder: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest = sha256_of(encoder.path)
    code = f"GOOD = ({str(encoder.path)!r}, {digest!r})\n\ndef wrong():\n    return {str(encoder.path)!r}, 64 * '0'\n"
    (tmp_path / "theirs_of_a_test.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    offer(good="theirs_of_a_test:GOOD", wrong="theirs_of_a_test:wrong", gone="theirs_of_a_test:nothing")
    assert module.encoder_names() == ["dinov2-s", "lite0", "good", "wrong", "gone"]
    assert Encoder("good").name == f"good/{digest[:12]}"
    assert Encoder("good").side == encoder.side
    with pytest.raises(DataError, match="wrong/000000000000 is damaged"):
        _ = Encoder("wrong").side
    with pytest.raises(CapevalError, match=r"'gone' \(theirs_of_a_test:nothing\) cannot be loaded"):
        Encoder("gone")
    with pytest.raises(UnknownName, match="Did you mean good"):
        Encoder("goood")


def test_two_encoders_of_one_name(offer: Callable[..., None]) -> None:
    offer(lite0="theirs:GOOD")
    with pytest.raises(CapevalError, match="two encoders are called 'lite0'; the second is theirs:GOOD"):
        module.encoder_names()


def test_the_best_encoder_that_is_here_is_the_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert module.default_encoder() == "dinov2-s"
    assert Encoder().name == "dinov2-s/6df67597c042"
    (tmp_path / "lite0").mkdir()
    (tmp_path / "lite0" / "lite0.onnx").touch()
    monkeypatch.setattr("capeval.io.assets._companions", lambda: [tmp_path])
    assert module.default_encoder(Run(cache=tmp_path / "cache")) == "lite0"


def test_encoders_are_found_by_the_name_in_features(offer: Callable[..., None]) -> None:
    found = module.find_encoder("lite0/7878a0d1b80f")
    assert found is not None
    assert found.name == "lite0/7878a0d1b80f"
    for other in ("lite0/000000000000", "mine/7878a0d1b80f", "lite0", ""):
        assert module.find_encoder(other) is None


def test_one_that_is_not_installed_hinders_nobody_else(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Who gives pictures without having the encoder can use the other metrics."""
    monkeypatch.setattr("capeval.io.assets._companions", list)
    pictures = PictureFiles({"x": tmp_path / "x.png"}, run=Run(cache=tmp_path))
    assert pictures.encoder == "lite0/7878a0d1b80f"
    with pytest.raises(Unavailable, match=r"lite0 .* is not on this machine.*\[learned\]"):
        _ = pictures.dim
