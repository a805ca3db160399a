"""Pictures that benchmarks share."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from capeval.bench.overlap import overlaps, picture_key
from capeval.cli import cli


@pytest.mark.parametrize(
    ("image", "key"),
    [
        ("COCO_val2014_000000000042.jpg", "coco:42"),
        ("COCO_train2014_000000581929", "coco:581929"),
        ("coco/000000000042", "coco:42"),
        ("000000534827.jpg", "coco:534827"),
        ("42", "coco:42"),
        ("30k/004683565867", "flickr:4683565867"),
        ("30k/000000036979", "flickr:36979"),
        ("4485484248.jpg", "flickr:4485484248"),
        ("1056338697_4f7d7ce270.jpg", "flickr:1056338697"),
        ("8k/1056338697_4f7d7ce270", "flickr:1056338697"),
        ("exercising_255.jpg", "exercising_255.jpg"),
        ("2008_000008.jpg", "2008_000008.jpg"),
    ],
)
def test_names_of_pictures(image: str, key: str) -> None:
    assert picture_key(image) == key


def test_overlap_of_what_is_there(shared: Path) -> None:
    (found,) = overlaps(["flickr8k-expert", "flickr8k-cf"], shared)
    assert (found.pictures_a, found.pictures_b, found.both) == (1000, 1000, 1000)


def test_one_name_is_not_enough() -> None:
    done = CliRunner().invoke(cli, ["bench", "overlap", "composite"])
    assert done.exit_code == 2
    assert "name two benchmarks" in done.output


def test_the_command(shared: Path) -> None:
    call = ["bench", "overlap", "composite", "flickr8k-expert", "--data", str(shared), "--format", "json"]
    (row,) = json.loads(CliRunner().invoke(cli, call).stdout)
    # Of 3,995 names 30 are Flickr8k's and Flickr30k's for one photo.
    assert (row["pictures_a"], row["pictures_b"]) == (2007 + 1958, 1000)
    assert 990 < row["both"] <= 1000
