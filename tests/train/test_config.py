"""Configs from files and settings. Needs no torch."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from capeval.errors import DataError, UnknownName

if sys.version_info < (3, 11):
    pytest.importorskip("tomli")

from capeval.train.config import Count, TrainConfig, config_from, config_to_dict, read_config, show_config


@dataclass(frozen=True)
class Config(TrainConfig):
    """A config."""

    epochs: Count = 5
    """How many
    of them."""
    kind: Literal["image", "text"] = "image"
    negatives: tuple[str, ...] = ("rc", "wp")
    """Which ones."""
    shared: bool = False


def test_defaults_file_and_settings(tmp_path: Path) -> None:
    assert read_config(Config) == Config()
    (tmp_path / "c.toml").write_text('epochs = 7\nkind = "text"\nlearning_rate = 1\n')
    config = read_config(Config, tmp_path / "c.toml", ["epochs=9", "kind=image", 'negatives=["rw"]', "shared=true"])
    assert config == Config(epochs=9, learning_rate=1.0, negatives=("rw",), shared=True)
    assert config.learning_rate == 1.0


def test_all_keys_are_kept_and_read_again() -> None:
    config = read_config(Config, settings=["seed=3"])
    values = config_to_dict(config)
    assert values["batch"] == 100
    assert values["negatives"] == ["rc", "wp"]
    assert config_from(Config, values) == config


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("epochs=many", "int.*epochs"),
        ("epochs=0", ">= 1.*epochs"),
        ("kind=video", "kind"),
        ("shared=1", "shared"),
        ("learning_rate=-1", "> 0"),
        ("epochs", "KEY=VALUE"),
        ("negatives=rc", "negatives"),
    ],
)
def test_wrong_values(setting: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_config(Config, settings=[setting])


def test_unknown_keys(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match=r"'epoch'.*Did you mean epochs"):
        read_config(Config, settings=["epoch=3"])
    (tmp_path / "c.toml").write_text("[training]\nepochs = 3\n")
    with pytest.raises(UnknownName, match=r"key in .*c\.toml 'training'"):
        read_config(Config, tmp_path / "c.toml")


def test_a_file_that_is_no_toml(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text("epochs: 3")
    with pytest.raises(DataError, match="not TOML"):
        read_config(Config, tmp_path / "c.toml")
    with pytest.raises(DataError, match="no such file"):
        read_config(Config, tmp_path / "d.toml")


def test_what_is_shown_can_be_read(tmp_path: Path) -> None:
    text = show_config(Config)
    assert "# How many of them.\nepochs = 5" in text
    assert "# Of all random draws.\nseed = 0" in text
    (tmp_path / "c.toml").write_text(text)
    assert read_config(Config, tmp_path / "c.toml") == Config()
