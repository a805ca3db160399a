"""Training the fast parser, on sentences of a toy language."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from capeval.cli import main  # noqa: E402
from capeval.errors import CheckpointError, DataError  # noqa: E402
from capeval.scene.fast import FastParser  # noqa: E402
from capeval.scene.fast.weights import read_weights  # noqa: E402
from capeval.train.config import read_config  # noqa: E402
from capeval.train.loop import train  # noqa: E402
from capeval.train.task import Inputs  # noqa: E402
from capeval.train.tasks.parser.config import Config  # noqa: E402
from capeval.train.tasks.parser.silver import agreement, common, is_held_out, read_silver  # noqa: E402
from capeval.train.tasks.parser.task import ParserTask  # noqa: E402

NOUNS = ["dog", "cat", "man", "woman", "child", "horse", "bird", "car", "house", "tree", "ball", "boat"]
SMALL = ["width=24", "hidden=16", "arcs=12", "parts=12", "captions=300", "validation=40", 'silver=["silver.tsv"]']
SMALL += ["learning_rate=0.01", "batch=16", "dropout=0"]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """ "a red dog near a cat": articles and adjectives hang under nouns, the second noun under the first."""
    lines = []
    for i, first in enumerate(NOUNS):
        for j, second in enumerate(NOUNS):
            for adjective in ("red", "small") if (i + j) % 2 else ("",):
                words = ["a", *([adjective] if adjective else []), first, "near", "a", second]
                noun = words.index(first) + 1
                tags = ["DT", *(["JJ"] if adjective else []), "NN", "IN", "DT", "NN"]
                heads = [noun, *([noun] if adjective else []), 0, noun + 3, noun + 3, noun]
                labels = ["det", *(["amod"] if adjective else []), "root", "case", "det", "nmod"]
                fields = [words, tags, words, map(str, heads), labels]
                lines.append("\t".join(" ".join(field) for field in fields))
    (tmp_path / "silver.tsv").write_text("\n".join(lines) + "\n")
    return tmp_path


def test_it_learns_a_toy_language(data: Path, tmp_path: Path) -> None:
    config = read_config(Config, None, [*SMALL, "epochs=10"])
    folder = train(ParserTask(config, Inputs(data)), tmp_path / "out")
    parser = FastParser(read_weights(folder / "parser.npz"))
    sentences = list(read_silver(data / "silver.tsv"))
    assert 2 <= sum(is_held_out(each.words) for each in sentences) < len(sentences) / 5
    found = agreement(parser, sentences, [each.tuples() for each in sentences])
    assert found["tags"] > 0.99
    assert found["las"] > 0.75
    assert found["identical"] > 0.9
    trained = json.loads((folder / "config.json").read_text())["trained"]
    assert trained["validation"]["identical"] > 0.9


def test_the_engine_computes_what_torch_computes(data: Path) -> None:
    """Scores of the network before whole numbers, and what the engine makes of them."""
    task = ParserTask(read_config(Config, None, SMALL), Inputs(data))
    torch.manual_seed(3)
    net = task.build().eval()
    from capeval.scene.fast.weights import weights_from

    parser = FastParser(weights_from(task._packed(net)))
    agree = total = 0
    for batch in task.batches(1, np.random.default_rng(0)):
        numbers = [each for each in task.coded if each.shape[1] == batch["words"].shape[1]][:8]
        rows = torch.from_numpy(np.stack(numbers))[:, 0].long()
        with torch.no_grad():
            tags = net(task.own[rows], task.spelling[rows], task.glove[rows]).tags.argmax(-1)
        spelled = list(task.words)
        captions = [" ".join(spelled[i] for i in row) for row in rows.tolist()]
        for parse, expected in zip(parser.parses(captions), tags.tolist(), strict=True):
            agree += sum(token.tag == task.tags[tag] for token, tag in zip(parse.tokens, expected, strict=True))
            total += len(expected)
    assert agree / total > 0.98


def test_a_killed_training_goes_on_as_if_nothing_had_happened(data: Path, tmp_path: Path) -> None:
    def trained(name: str, *epochs: int) -> bytes:
        for count in epochs:
            config = read_config(Config, None, [*SMALL, f"epochs={count}"])
            train(ParserTask(config, Inputs(data)), tmp_path / name, resume=count != epochs[0])
        return (tmp_path / name / "parser.npz").read_bytes()

    assert read_weights_of(trained("whole", 2)) == read_weights_of(trained("parts", 1, 2))


def read_weights_of(data: bytes) -> dict[str, bytes]:
    from capeval.scene.fast.weights import weights_from

    return {name: np.asarray(value).tobytes() for name, value in weights_from(data).network.items()}


def test_start_takes_the_weights_of_another_training(data: Path, tmp_path: Path) -> None:
    first = read_config(Config, None, [*SMALL, "epochs=1"])
    folder = train(ParserTask(first, Inputs(data)), tmp_path / "first")
    again = ParserTask(read_config(Config, None, [*SMALL, f"start={folder}"]), Inputs(data))
    from capeval.train.checkpoint import load_weights

    wanted = ParserTask(first, Inputs(data)).build()
    load_weights(wanted, folder / "weights.safetensors")
    for ours, theirs in zip(again.build().parameters(), wanted.parameters(), strict=True):
        assert torch.equal(ours, theirs)
    other = read_config(Config, None, [*SMALL, f"start={folder}", "hidden=8"])
    with pytest.raises(CheckpointError, match="of another shape"):
        ParserTask(other, Inputs(data)).build()


@pytest.mark.parametrize("line", ["a b\tDT\tx\t0\troot", "a\tDT\ta\t7\troot", "only words", "a\tDT\ta\tx\troot"])
def test_broken_parses_are_told_of(tmp_path: Path, line: str) -> None:
    file = tmp_path / "silver.tsv"
    file.write_text(f"a\tDT\ta\t0\troot\n{line}\n")
    with pytest.raises(DataError, match=r"silver.tsv.*line 2|line 2.*silver.tsv"):
        list(read_silver(file))


def test_common_tuples_are_counted_as_often_as_both_have_them() -> None:
    assert common([("a",), ("a",), ("b",)], [("a",), ("b",), ("b",)]) == 2


def test_the_command_lists_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["capeval", "train", "parser", "--show"])
    main()
    assert "hidden = 192" in capsys.readouterr().out
