"""The paraphrase table out of a wheel: the right file, nothing else, and errors that say what is wrong."""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
from pathlib import Path
from typing import Any

import pytest

from capeval.errors import DataError
from capeval.text.paraphrase import find_table
from capeval.text.tablefetch import MEMBER, fetch_table

pytest.importorskip("httpx")
TABLE = os.urandom(70_000)
SHA = hashlib.sha256(TABLE).hexdigest()


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CAPEVAL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def wheel(members: dict[str, bytes]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in members.items():
            made.writestr(name, content)
    return target.getvalue()


WHEEL = wheel({"pycocoevalcap/meteor/meteor-1.5.jar": os.urandom(400_000), MEMBER: TABLE, "other": b"x"})


@pytest.mark.parametrize("has_ranges", [True, False])
def test_one_file_out_of_the_wheel(site: Any, cache: Path, has_ranges: bool) -> None:
    site.files["/pycocoevalcap.whl"] = WHEEL
    site.has_ranges = has_ranges
    path = fetch_table(f"{site.url}/pycocoevalcap.whl", sha256=SHA, pause=0.0)
    assert path.read_bytes() == TABLE
    assert find_table() == path
    kept = [each.name for each in cache.rglob("*") if each.is_file() and not each.name.startswith(".")]
    assert kept == ["english.paraphrases"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (wheel({"other": b"x"}), "no pycocoevalcap/meteor/data/paraphrase-en.gz is in it"),
        (wheel({MEMBER: TABLE[:-1]}), "its checksum is not right"),
        (WHEEL[: len(WHEEL) // 2], "damaged"),
    ],
)
def test_another_file(site: Any, content: bytes, message: str) -> None:
    site.files["/pycocoevalcap.whl"] = content
    with pytest.raises(DataError, match=message):
        fetch_table(f"{site.url}/pycocoevalcap.whl", sha256=SHA, pause=0.0)


def test_a_checksum_is_that_of_the_published_table(site: Any) -> None:
    site.files["/pycocoevalcap.whl"] = WHEEL
    with pytest.raises(DataError, match="its checksum is not right"):
        fetch_table(f"{site.url}/pycocoevalcap.whl", pause=0.0)
