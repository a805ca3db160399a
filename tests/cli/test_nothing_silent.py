"""What is ignored, odd or missing is said, in words that help here."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import capeval
from capeval import errors
from capeval.cli import cli
from capeval.errors import MissingExtra, Unavailable, counted, install_command
from capeval.io.features import open_features


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("c.json").write_text('{"1": "a dog runs", "2": "a cat"}')
    Path("r.json").write_text('{"1": ["a dog runs"], "2": ["a cat sleeps"]}')


def score(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["score", "c.json", "-r", "r.json", "-m", "rouge_l", *arguments])


def test_absurd_numbers_of_resamples() -> None:
    wrong = score("--intervals", "--resamples", "10000000000000")
    assert (wrong.exit_code, "1<=x<=1000000" in wrong.stderr) == (2, True)
    few = score("--intervals", "--resamples", "3")
    assert (few.exit_code, "--resamples 3: the ends of a 95 % interval need 100" in few.stderr) == (0, True)
    assert "resamples" not in score("--intervals", "--resamples", "100").stderr


def test_resamples_and_seed_that_nothing_uses() -> None:
    assert "--resamples and --seed without effect" in score("--resamples", "200", "--seed", "3").stderr
    assert "without effect" not in score("--resamples", "200", "--seed", "3", "--intervals").stderr
    assert "without effect" not in score().stderr


@pytest.mark.parametrize(
    ("option", "name", "note"),
    [
        ("--json", "x.csv", "x.csv: what is written is JSON, whatever .csv stands for."),
        ("--save", "x.json", "x.json: what is written is a NumPy archive, whatever .json stands for."),
        ("--json", "x.json.gz", ""),
        ("--save", "x.npz", ""),
        ("--save", "x", ""),
    ],
)
def test_endings_that_say_something_else(option: str, name: str, note: str) -> None:
    done = score(option, name)
    assert done.exit_code == 0, done.output
    assert note in done.stderr
    assert ("what is written" in done.stderr) == bool(note)


def test_one_is_singular() -> None:
    Path("c.json").write_text('{"1": "a dog runs"}')
    done = score()
    assert "1 caption\n" in done.stderr
    assert "1 image with references has no candidate and is left out." in done.stderr
    assert [counted(n, "image") for n in (0, 1, 2, 1000)] == ["0 images", "1 image", "2 images", "1,000 images"]


def test_a_data_frame_without_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    result = capeval.score(["a dog"], [["a dog"]], ["rouge_l"])
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(Unavailable, match=r"pip install pandas\. `records"):
        result.to_dataframe()


def test_extras_are_installed_from_the_checkout_where_there_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout = tmp_path / "checkout"
    (checkout / "src" / "capeval").mkdir(parents=True)
    monkeypatch.setattr(errors, "__file__", str(checkout / "src" / "capeval" / "errors.py"))
    assert install_command("meteor") == 'pip install "capeval[meteor]"'  # a package: there is no pyproject.toml
    (checkout / "pyproject.toml").write_text("")
    assert install_command("meteor") == f"pip install '{checkout}[meteor]'"
    monkeypatch.chdir(checkout)
    assert "Install it with: pip install '.[meteor]', or get it" in str(MissingExtra("METEOR", "meteor", "a way"))
    for name in ("unified", "models"):  # the weights are on no index under these names: they come from the checkout too
        (checkout / "packages" / name).mkdir(parents=True)
        (checkout / "packages" / name / "pyproject.toml").write_text("")
    assert install_command("learned") == "pip install './packages/models' './packages/unified' '.[learned]'"
    assert install_command("meteor") == "pip install '.[meteor]'"


def test_the_config_of_a_training_is_shown_without_torch() -> None:
    program = (
        "import sys\nfor name in ('torch', 'safetensors', 'onnx'): sys.modules[name] = None\n"
        "from capeval.cli import main\nsys.argv = ['capeval', 'train', *sys.argv[1:]]\nmain()"
    )

    def train(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", program, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    shown = train("captioner", "--show")
    assert (shown.returncode, "epochs = " in shown.stdout) == (0, True), shown.stderr
    refused = train("captioner", "--out", "x")
    assert (refused.returncode, f"Install it with: {install_command('train')}" in refused.stderr) == (1, True)


def test_numpys_advice_to_load_unsafely_reaches_nobody() -> None:
    np.save("objects.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    np.savez("objects.npz", vectors=np.array([{"a": 1}], dtype=object), ids=np.array(["x"]))
    Path("text.npy").write_text("no array at all")
    Path("text.npz").write_text("no archive at all")
    for name in ("objects.npy", "objects.npz", "text.npy", "text.npz"):
        with pytest.raises(capeval.DataError) as caught:
            open_features(name)
        assert "pickle" not in str(caught.value), name
        assert "Python objects" in str(caught.value) or "not a readable" in str(caught.value)
    for name in ("objects.npz", "text.npz"):
        with pytest.raises(capeval.DataError) as caught:
            capeval.load(name)
        assert "pickle" not in str(caught.value)


# Odd bytes.


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"1": "a dog runs", "2": "a cät"}'.encode("latin-1"), "not UTF-8: byte"),
        (b'{"image_id": 1, "caption": "a"}\n{"image_id": 2, "caption": \n', "c.jsonl, line 2: broken JSON"),
        (b'{"image_id": 1, "caption": NaN}\n', "c.jsonl, line 1: `caption` is NaN, not a text"),
    ],
)
def test_broken_files(content: bytes, message: str) -> None:
    Path("c.jsonl").write_bytes(content)
    done = CliRunner().invoke(cli, ["score", "c.jsonl", "-r", "r.json", "-m", "rouge_l"])
    assert done.exit_code == 1
    assert message in str(done.exception)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_marks_of_byte_order_and_windows_line_ends(encoding: str) -> None:
    Path("c.csv").write_bytes("image_id,caption\r\n1,a dog runs\r\n2,a cat\r\n".encode(encoding))
    done = CliRunner().invoke(cli, ["score", "c.csv", "-r", "r.json", "-m", "rouge_l", "--format", "json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["scores"] == json.loads(score("--format", "json").stdout)["scores"]
