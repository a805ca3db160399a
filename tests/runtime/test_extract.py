"""Extraction into a store: resumed, added to, with bad pictures among the good ones."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from capeval.errors import CapevalError, DataError
from capeval.io.features import open_features
from capeval.io.featurestore import HASH_BYTES, Encoded, Store
from capeval.io.locks import locked
from capeval.run import Run
from capeval.runtime import extract as extracting
from capeval.runtime.encoder import Encoder
from capeval.runtime.extract import extract, find_pictures

pytest.importorskip("onnxruntime")
Image = pytest.importorskip("PIL.Image")


def draw(folder: Path, count: int, start: int = 0, side: int = 40) -> None:
    folder.mkdir(exist_ok=True)
    for i in range(start, start + count):
        pixels = np.random.default_rng(i).integers(0, 256, (side, side, 3)).astype(np.uint8)
        Image.fromarray(pixels).save(folder / f"{i:03}.png")


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return Encoder("lite0")  # the quick one


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    draw(tmp_path / "pictures", 7)
    return tmp_path / "pictures"


def test_all_pictures_come_in_whatever_the_threads(folder: Path, tmp_path: Path, encoder: Encoder) -> None:
    for threads in (1, 3):
        run = Run(threads=threads)
        done = extract(find_pictures(folder), tmp_path / f"{threads}", encoder=encoder, regions=True, run=run)
        assert (done.added, done.there, done.bad) == (7, 0, [])
    one, three = open_features(tmp_path / "1"), open_features(tmp_path / "3")
    assert one.ids == [f"{i:03}" for i in range(7)]
    assert np.array_equal(one.regions(one.ids), three.regions(one.ids))
    exact, regions = encoder.encode_files([folder / f"{key}.png" for key in one.ids])
    assert np.allclose(one.vectors(one.ids), exact, rtol=1e-3, atol=1e-3)
    assert np.allclose(one.regions(one.ids), regions, rtol=1e-3, atol=1e-3)


def test_only_new_and_changed_pictures_are_encoded(folder: Path, tmp_path: Path, encoder: Encoder) -> None:
    output = tmp_path / "x"
    extract(find_pictures(folder), output, encoder=encoder)
    before = open_features(output).vectors(["003", "004"])
    draw(folder, 2, start=7)
    Image.new("RGB", (9, 9), "red").save(folder / "003.png")
    done = extract(find_pictures(folder), output, encoder=encoder)
    assert (done.added, done.there) == (3, 6)
    after = open_features(output)
    assert len(after) == 9
    assert np.array_equal(after.vectors(["004"])[0], before[1])
    assert not np.array_equal(after.vectors(["003"])[0], before[0])


def test_a_bad_picture_fails_or_is_skipped(folder: Path, tmp_path: Path, encoder: Encoder) -> None:
    (folder / "002.png").write_bytes((folder / "002.png").read_bytes()[:500])
    (folder / "005.png").write_bytes(b"")
    with pytest.raises(DataError, match=r"002\.png.*damaged"):
        extract(find_pictures(folder), tmp_path / "x", encoder=encoder)
    assert not (tmp_path / "x").exists(), "a store that is not complete has not its name"
    only_bad = {key: path for key, path in find_pictures(folder).items() if key in ("002", "005")}
    assert not extract(only_bad, tmp_path / "none", encoder=encoder, on_error="skip").added
    assert not (tmp_path / "none").exists()
    done = extract(find_pictures(folder), tmp_path / "x", encoder=encoder, on_error="skip")
    assert [("002.png" in text, "005.png" in text) for text in done.bad] == [(True, False), (False, True)]
    assert open_features(tmp_path / "x").ids == ["000", "001", "003", "004", "006"]
    with pytest.raises(CapevalError, match="fail or skip"):
        extract({}, tmp_path / "x", encoder=encoder, on_error="ignore")


def test_the_output_is_never_something_else(folder: Path, tmp_path: Path, encoder: Encoder) -> None:
    (tmp_path / "notes.txt").write_text("dear diary")
    with pytest.raises(DataError, match="not a feature store"):
        extract(find_pictures(folder), tmp_path / "notes.txt", encoder=encoder)
    assert (tmp_path / "notes.txt").read_text() == "dear diary"


def test_another_encoder_or_other_regions_do_not_mix(folder: Path, tmp_path: Path, encoder: Encoder) -> None:
    pictures = find_pictures(folder)
    Store(tmp_path / "x").add("other/1", [Encoded(b"." * HASH_BYTES, np.ones(6))])
    with pytest.raises(DataError, match="made by encoder other/1, not by lite0/"):
        extract(pictures, tmp_path / "x", encoder=encoder)
    extract(pictures, tmp_path / "y", encoder=encoder)
    with pytest.raises(DataError, match="no regions"):
        extract(pictures, tmp_path / "y", encoder=encoder, regions=True)


def test_only_one_writes_at_a_time(folder: Path, tmp_path: Path, encoder: Encoder) -> None:
    with locked(tmp_path / "x"), pytest.raises(DataError, match="another process"):
        extract(find_pictures(folder), tmp_path / "x", encoder=encoder)
    extract(find_pictures(folder), tmp_path / "x", encoder=encoder)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pictures", "x"], "no lock file is left"


def test_a_picture_under_another_name_is_not_encoded_again(
    folder: Path, tmp_path: Path, encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    extract(find_pictures(folder), tmp_path / "x", encoder=encoder)
    (folder / "003.png").rename(folder / "other.png")
    monkeypatch.setattr(extracting, "prepare", None)
    done = extract(find_pictures(folder), tmp_path / "x", encoder=encoder)
    assert (done.added, done.there) == (1, 6)
    both = open_features(tmp_path / "x").vectors(["003", "other"])
    assert np.array_equal(both[0], both[1])


def test_two_pictures_with_one_id(folder: Path) -> None:
    (folder / "sub").mkdir()
    Image.new("RGB", (4, 4)).save(folder / "sub" / "003.jpg")
    with pytest.raises(DataError, match=r"'003'.*003\.png and .*003\.jpg"):
        find_pictures(folder)


def test_folders_without_pictures(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no pictures"):
        find_pictures(tmp_path)
    with pytest.raises(DataError, match="no such folder"):
        find_pictures(tmp_path / "none")


def test_hidden_files_and_others_are_passed_over(folder: Path) -> None:
    (folder / "readme.txt").write_text("these are pictures")
    (folder / "._001.png").write_text("what a Mac leaves")
    (folder / ".trash").mkdir()
    Image.new("RGB", (4, 4)).save(folder / ".trash" / "001.png")
    assert len(find_pictures(folder)) == 7


def test_a_killed_run_goes_on_where_it_stopped(tmp_path: Path, encoder: Encoder) -> None:
    draw(tmp_path / "pictures", 150, side=16)
    output, part = tmp_path / "x", tmp_path / "x.part"
    command = [sys.executable, "-c", "from capeval.cli import main; main()", "features"]
    command += [str(tmp_path / "pictures"), "-o", str(output), "--threads", "1", "--encoder", "lite0"]
    child = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and child.poll() is None:
        if part.exists() and part.stat().st_size > 100_000:  # the first block is being written
            break
        time.sleep(0.01)
    time.sleep(0.2)
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert not output.exists()
    saved = len(open_features(part))
    assert 0 < saved < 150
    done = extract(find_pictures(tmp_path / "pictures"), output, encoder=encoder)
    assert (done.added, done.there) == (150 - saved, saved)
    assert not part.exists()
    whole = open_features(output)
    assert sorted(whole.ids) == [f"{i:03}" for i in range(150)]
    exact, _ = encoder.encode_files([tmp_path / "pictures" / f"{key}.png" for key in ("000", "070", "149")])
    assert np.allclose(whole.vectors(["000", "070", "149"]), exact, rtol=1e-3, atol=1e-3)
