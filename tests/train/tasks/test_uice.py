"""UICE's three trainings: what a corpus becomes, what negatives are, and that each learns and says the same in ONNX."""

# ruff: noqa: E402  (what needs torch is imported after asking whether it is there)

from __future__ import annotations

import gzip
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")
pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from capeval.errors import CapevalError, CheckpointError, DataError
from capeval.models.uice import Semantics, SemanticShape, Syntax
from capeval.runtime.uice import open_fusion, open_semantics, open_syntax
from capeval.text.vocabulary import EOS, PAD, UNK, Vocabulary
from capeval.train.captions import CaptionTable
from capeval.train.checkpoint import BEST, load_weights
from capeval.train.loop import train
from capeval.train.task import Inputs
from capeval.train.tasks.uice.config import Config as FusionConfig
from capeval.train.tasks.uice.task import UiceTask
from capeval.train.tasks.uice_sem.config import Config as SemConfig
from capeval.train.tasks.uice_sem.task import UiceSemTask
from capeval.train.tasks.uice_sem.wordclasses import Mentioned, WordClasses
from capeval.train.tasks.uice_syn.config import Config as SynConfig
from capeval.train.tasks.uice_syn.corpus import read_corpus, split_sentences
from capeval.train.tasks.uice_syn.examples import Negatives
from capeval.train.tasks.uice_syn.splices import Splices
from capeval.train.tasks.uice_syn.start import folder_of
from capeval.train.tasks.uice_syn.task import UiceSynTask

THINGS = ["dog", "cat", "sofa", "ball", "park", "plane", "man", "street"]
DIM = 12


def sentences(count: int) -> list[str]:
    random = np.random.default_rng(3)
    who, what, where = ["man", "woman", "dog", "cat"], ["sits on", "stands in", "looks at"], ["park", "street", "house"]
    return [
        f"a {random.choice(['young', 'old', 'small', 'big'])} {random.choice(who)} {random.choice(what)} "
        f"the {random.choice(['green', 'red', 'quiet'])} {random.choice(where)}"
        for _ in range(count)
    ]


# --- the corpus ---


def test_running_text_becomes_sentences() -> None:
    text = 'Mr. Brown went home. "Are you there?" he asked. It rained… Then St. Paul stood up! What next? Nobody knew'
    assert list(split_sentences(text)) == [
        "Mr. Brown went home.",
        "\0 he asked.",
        "It rained…",
        "Then St. Paul stood up!",
        "What next?",
        "Nobody knew",
    ]


def test_what_is_left_out_is_counted(tmp_path: Path) -> None:
    paragraphs = [
        "She walked slowly along the shore.\nThe wind was cold and the sea was grey.",
        "“I shall not go. It is late,” said he, and turned away.",
        "No. Yes.",
        "She walked slowly along the shore.",
    ]
    common = ["The wind was cold and the sea was grey and she was late.", "She was late and the sea was cold."] * 3
    (tmp_path / "novel.txt.gz").write_bytes(gzip.compress("\n\n".join([*paragraphs, *common]).encode()))
    found = read_corpus([tmp_path / "novel.txt.gz"], SynConfig(shortest=4, longest=12))
    assert found.counts == {
        "sentences": 12, "speech": 1, "short": 2, "long": 3, "of rare words": 0, "repeated": 3, "kept": 3,
        "not drawn": 0,
    }  # fmt: skip
    assert ["the", "wind", "was", "cold", "and", "the", "sea", "was", "grey"] in found.sentences


def test_a_sentence_a_line(tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("A dog runs on grass. It is red.\nTwo men sit on a bench\n")
    found = read_corpus([tmp_path / "lines.txt"], SynConfig())
    assert [len(each) for each in found.sentences] == [8, 6]


def test_sentences_of_rare_words_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("\n".join([*sentences(100), "qwx zyv qqp lmn sits on the house"]))
    found = read_corpus([tmp_path / "lines.txt"], SynConfig(vocabulary=22))
    assert found.counts["of rare words"] == 1
    assert all(found.vocabulary.has(word) for sentence in found.sentences for word in sentence)


def test_each_file_gives_its_share(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("\n".join(f"the number {i} is here" for i in range(100)))
    (tmp_path / "b.txt").write_text("\n".join(f"a letter called {i} is there" for i in range(10)))
    found = read_corpus([tmp_path / "a.txt", tmp_path / "b.txt"], SynConfig(lines=40))
    assert found.counts["kept"] == 40
    assert sum(each[0] == "a" for each in found.sentences) == 10


def test_no_corpus(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="a corpus is needed"):
        read_corpus([], SynConfig())
    (tmp_path / "x.txt").write_text("Yes.\nNo.\n")
    with pytest.raises(DataError, match=r"no corpus to learn from is left: 2 sentences, .*2 short"):
        read_corpus([tmp_path / "x.txt"], SynConfig())
    (tmp_path / "y.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match=r"not UTF-8|UTF-16|encod"):
        read_corpus([tmp_path / "y.txt"], SynConfig())


# --- sentences that no person wrote ---


@pytest.fixture(scope="module")
def negatives() -> Negatives:
    texts = [text.split() for text in sentences(60)]
    vocabulary = Vocabulary([word for word in Vocabulary.of(texts).spellings[4:] if word != "quiet"])
    return Negatives(vocabulary, texts, {"machine": [["a", "man"], ["a", "dog", "sits"]]}, 8, 0.3)


def test_permuted_and_random_words(negatives: Negatives) -> None:
    text = ["a", "young", "man", "sits", "on", "the", "red", "house"]
    for _ in range(20):
        random = np.random.default_rng(_)
        (moved,) = negatives.changed("wp", [text], random)
        assert sorted(moved) == sorted(text)
        assert sum(a != b for a, b in zip(moved, text)) == 2  # 30 % of eight words
        (other,) = negatives.changed("rw", [text], random)
        assert sum(a != b for a, b in zip(other, text)) == 2


def test_samples_follow_the_corpus(negatives: Negatives) -> None:
    tokens, lengths = negatives.draw("mc", np.zeros(200, np.int64), np.random.default_rng(0))
    seen = {tuple(pair) for text in sentences(60) for pair in pairwise(text.split())}
    spelled = negatives.vocabulary.spellings
    for row, length in zip(tokens, lengths):
        words = [spelled[number] for number in row[: length - 1]]
        assert row[length - 1] == EOS
        assert (row[length:] == PAD).all()
        assert all(pair in seen for pair in pairwise(words) if "<unk>" not in pair)


def test_unknown_words_are_no_rarer_in_negatives(negatives: Negatives) -> None:
    """Systems never write a word that is not known: without help it would be the sign of a person."""
    assert 0.02 < negatives.unknown < 0.2
    tokens, lengths = negatives.draw("machine", np.zeros(4000, np.int64), np.random.default_rng(0))
    share = (tokens == UNK).sum() / (lengths.sum() - len(lengths))
    assert share == pytest.approx(negatives.unknown, rel=0.15)


def test_one_word_becomes_unknown(negatives: Negatives) -> None:
    tokens, lengths = negatives.vocabulary.encode([["a", "dog", "sits"], ["man"], []], 8)
    found = negatives.hidden_word(tokens, lengths, np.random.default_rng(0))
    assert (found != tokens).sum(1).tolist() == [1, 1, 0]
    assert set(found[found != tokens].tolist()) == {UNK}


NOVEL = [
    "the visit took place in the morning",
    "he took her hand as if to swear eternal love",
    "she blushed because he adored her",
    "they had quarrelled and he came in the morning",
    "she lived for the glory of her family",
    "the carriage stopped in the park",
    "he adores her and she loves him",
    "he wept seeing her in tears",
]


def test_sentences_that_end_in_another_style() -> None:
    """Endings are in the other style's own words, in the present, and have no word that is not known."""
    own = [text.split() for text in ["a man sits in the park in the morning", "a dog runs to the house with a ball"]]
    novel = [text.split() for text in NOVEL]
    known = {word for text in [*own, *novel] for word in text} - {"glory"}
    splices = Splices(own * 10, novel, known)
    endings = {" ".join(each) for each in splices.endings}
    assert {"as if to swear eternal love", "because he adores her", "seeing her in tears"} <= endings
    assert endings.isdisjoint({"in the morning", "in the park"})  # as the corpus itself has them
    assert not any("came" in each or "glory" in each for each in endings)
    seen = set()
    for seed in range(60):
        made = " ".join(splices.splice(own[0], 20, np.random.default_rng(seed)))
        beginnings = [made.removesuffix(f" {each}") for each in endings if made.endswith(f" {each}")]
        (beginning,) = [each for each in beginnings if " ".join(own[0]).startswith(each)]
        seen.add(beginning)
    assert seen == {"a man sits", "a man sits in the park", "a man sits in the park in the morning"}
    assert len(splices.splice(own[0] * 4, 20, np.random.default_rng(0))) <= 20
    assert Splices(own, [], known).endings == []


def test_kinds_are_drawn_as_often_as_they_are_named(tmp_path: Path) -> None:
    (tmp_path / "style.txt").write_text("\n".join(dict.fromkeys(sentences(300))))
    (tmp_path / "novel.txt").write_text("\n".join(["the cat sits in green green green", *NOVEL]))
    inputs = Inputs(corpus=(tmp_path / "style.txt",), extra={"other": str(tmp_path / "novel.txt")})
    config = SynConfig(hidden=8, validation=10, negatives=("wp", "spliced", "spliced", "machine"))
    task = UiceSynTask(config, inputs)
    assert task.kinds == ["wp", "spliced", "spliced"]  # there are no machine captions
    tokens, _ = task._drawn(np.zeros(900, np.int64), np.random.default_rng(0))
    is_spliced = (tokens == task.vocabulary["green"]).sum(1) >= 3
    assert is_spliced.mean() == pytest.approx(2 / 3, abs=0.07)
    assert not (tokens == UNK).any()  # the novel's other sentences have words that are not known
    with torch.no_grad():
        assert {"auc_wp", "auc_spliced", "unknown_rises"} <= task.validate(task.build()).keys()


def test_the_syntactic_module_learns(tmp_path: Path) -> None:
    (tmp_path / "style.txt").write_text("\n".join(dict.fromkeys(sentences(3000))))
    sizes: dict[str, Any] = {"hidden": 24, "batch": 16, "validation": 40, "average": 0.0, "learning_rate": 0.01}
    config = SynConfig(epochs=12, decay=0.95, dropout=0.0, **sizes)
    task = UiceSynTask(config, Inputs(corpus=(tmp_path / "style.txt",)))
    assert "kept" in task.opening
    assert task.kinds == ["wp", "rw", "mc"]
    folder = train(task, tmp_path / "run")
    told = json.loads((folder / "config.json").read_text())
    assert told["trained"]["validation"]["auc_wp"] > 0.9
    assert told["trained"]["validation"]["unknown_rises"] < 0.05
    assert told["facts"]["corpus"]["kept"] == len(task.sentences) + len(task.held_out)
    syntax = open_syntax(str(folder))
    model = Syntax(len(syntax.vocabulary), 100, 24).eval()
    load_weights(model, folder / BEST)
    text = ["a", "young", "man", "sits", "on", "the", "red", "house"]
    tokens, _ = syntax.vocabulary.encode([text], 20)
    with torch.no_grad():
        logits = model(torch.from_numpy(tokens[:, : len(text) + 1]))[0].numpy()
    # Weights are stored in half precision.
    assert syntax.steps(text) == pytest.approx(1 / (1 + np.exp(-logits)), abs=5e-3)


def test_a_style_goes_on_from_another(tmp_path: Path) -> None:
    (tmp_path / "first.txt").write_text("\n".join(dict.fromkeys(sentences(300))))
    (tmp_path / "more.txt").write_text("\n".join([*dict.fromkeys(sentences(200)), "a brown fox sits on the old fence"]))
    config = SynConfig(hidden=8, batch=16, validation=10, epochs=1, rare=0.5)
    first = train(UiceSynTask(config, Inputs(corpus=(tmp_path / "first.txt",))), tmp_path / "first")
    given = Inputs(corpus=(tmp_path / "more.txt",), extra={"start": str(first)})
    task = UiceSynTask(config, given)
    assert not task.vocabulary.has("fox")  # the words are those of the first
    model, fresh = task.build(), Syntax(len(task.vocabulary), 100, 8)
    load_weights(fresh, first / BEST)
    assert all(torch.equal(a, b) for a, b in zip(model.state_dict().values(), fresh.state_dict().values()))
    # Unknown words have the mean vector of the rarest.
    words = fresh.words.weight.data
    assert torch.allclose(words[UNK], words[-round((len(words) - 4) / 3) :].mean(0), atol=1e-6)
    # What is published of a style has no file of weights: they are read out of its network.
    (first / BEST).unlink()
    told = json.loads((first / "config.json").read_text())
    told["facts"]["trained_on"] = ["images:coco-train"]
    (first / "config.json").write_text(json.dumps(told))
    assert UiceSynTask(config, given).sources == ("coco",)  # what the start has seen is told of the new one
    again = UiceSynTask(config, given).build().state_dict()
    for name, value in fresh.state_dict().items():
        assert torch.allclose(again[name], value, atol=2e-3), name
    with pytest.raises(CheckpointError, match="a network of other sizes"):
        UiceSynTask(SynConfig(hidden=9, validation=10), given).build()
    assert folder_of(str(first)) == first


def test_the_loss_is_over_all_steps(tmp_path: Path) -> None:
    (tmp_path / "style.txt").write_text("\n".join(dict.fromkeys(sentences(300))))
    config = SynConfig(hidden=8, batch=8, validation=10, dropout=0.0)
    inputs = Inputs(corpus=(tmp_path / "style.txt",))
    task = UiceSynTask(config, inputs)
    model = task.build().eval()
    batch = next(iter(task.batches(1, np.random.default_rng(0))))
    with torch.no_grad():
        q = torch.sigmoid(model(batch["tokens"])).double()
        each = []
        for row, length, human in zip(q, batch["lengths"].tolist(), batch["human"].tolist()):
            steps = row[:length]
            each.append(float(-(steps.log() if human else (1 - steps).log()).mean()))
        assert float(task.loss(model, batch)) == pytest.approx(np.mean(each), abs=1e-5)
    assert batch["human"].mean() == 0.5


def test_inputs_that_are_not_used(tmp_path: Path) -> None:
    (tmp_path / "style.txt").write_text("\n".join(dict.fromkeys(sentences(100))))
    inputs = Inputs(corpus=(tmp_path / "style.txt",), extra={"other": str(tmp_path / "style.txt")})
    with pytest.raises(CapevalError, match="other is not among the negatives"):
        UiceSynTask(SynConfig(negatives=("wp",)), inputs)
    with pytest.raises(CapevalError, match="name a kind"):
        UiceSynTask(SynConfig(negatives=("machine",)), Inputs(corpus=inputs.corpus))


# --- the semantic module ---


def test_words_are_exchanged_within_their_class() -> None:
    texts = [
        f"two {a}s are playing with a {b} in the park" for a in ("dog", "cat", "boy") for b in ("man", "girl", "cow")
    ]
    texts += [f"three {b}s are running past a {a}" for a in ("dog", "cat", "boy") for b in ("girl", "cow")]
    vocabulary = Vocabulary.of(texts)
    classes = WordClasses(vocabulary, texts * 3)
    table = CaptionTable.of(vocabulary, {"x": [texts[0]]}, ["x"], 12, eos=False)
    known = Mentioned(table, len(vocabulary))
    kind = {word: int(classes.kind[vocabulary[word]]) for word in ("dogs", "cats", "dog", "playing", "running", "the")}
    assert kind["dogs"] == kind["cats"] != kind["dog"] != 0
    assert kind["playing"] == kind["running"] != 0
    assert kind["the"] == 0
    assert classes.kind[vocabulary["two"]] == classes.kind[vocabulary["three"]] != 0
    before = np.repeat(table.tokens.astype(np.int64), 50, axis=0)
    after = classes.exchanged(before, known, np.zeros(50, np.int64), np.random.default_rng(0))
    changed = before != after
    assert (changed.sum(1) <= 1).all()
    assert changed.any(1).mean() > 0.5
    assert (classes.kind[before[changed]] == classes.kind[after[changed]]).all()
    assert not np.isin(after[changed], table.tokens).any()
    weights = classes.weights(0.2)
    assert weights[vocabulary["the"]] == pytest.approx(0.2)
    assert weights[vocabulary["dogs"]] == 1
    assert weights[PAD] == 0


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A picture for each pair of things; captions name both."""
    place = tmp_path_factory.mktemp("sem")
    pairs = [(a, b) for a in range(len(THINGS)) for b in range(a)]
    names = [f"p{a}{b}" for a, b in pairs]
    meanings = np.random.default_rng(7).standard_normal((len(THINGS), DIM))
    texts = {
        n: [f"a {THINGS[a]} and a {THINGS[b]}", f"{THINGS[b]} with a {THINGS[a]}"] for n, (a, b) in zip(names, pairs)
    }
    vectors = np.stack([meanings[a] + meanings[b] for a, b in pairs]).astype(np.float32)
    np.savez(place / "f.npz", ids=np.array(names), vectors=vectors)
    (place / "train.json").write_text(json.dumps({name: texts[name] for name in names[6:]}))
    (place / "val.json").write_text(json.dumps({name: texts[name] for name in names[:6]}))
    return place


@pytest.fixture(scope="module")
def trained(folder: Path) -> Path:
    config = SemConfig(
        sources=(str(folder / "train.json"),), validation=(str(folder / "val.json"),), minimum=1, width=32, hidden=12,
        beside=16, kernels=8, kernel_width=4, epochs=60, bag=15, warmup=30, warmup_batch=11, batch=11, near=4,
        learning_rate=0.01, decay=0.97, dropout=0.0, average=0.0,
    )  # fmt: skip
    return train(UiceSemTask(config, Inputs(features=(folder / "f.npz",))), folder / "run")


def test_the_semantic_module_finds_pictures_it_has_never_seen(trained: Path) -> None:
    told = json.loads((trained / "config.json").read_text())
    assert told["trained"]["epoch"] > 30  # no epoch without kernels is kept
    assert told["trained"]["validation"]["picture_at_1"] > 0.5  # one of six by chance
    assert told["facts"]["pictures"] == 22


def test_torch_and_onnx_match_alike(folder: Path, trained: Path) -> None:
    semantics = open_semantics(str(trained))
    shape = SemanticShape(len(semantics.vocabulary), 100, DIM, 12, 16, 32, 8, 4)
    model = Semantics(shape, torch.ones(len(semantics.vocabulary))).eval()
    load_weights(model, trained / BEST)
    with np.load(folder / "f.npz") as stored:
        vectors = stored["vectors"][:3]
    texts = [["a", "dog", "and", "a", "cat"], ["sofa"], ["ball", "with", "a", "plane"]]
    tokens, lengths = semantics.vocabulary.encode(texts, 20, eos=False)
    with torch.no_grad():
        captions = model.project(model.read(torch.from_numpy(tokens), torch.from_numpy(lengths)))
        fits = model.fits(captions, model.project(model.look(torch.from_numpy(vectors)))).numpy()
    read, seen = semantics.read(texts), semantics.look(vectors)
    place = np.arange(9)
    found = semantics.match(read, place % 3, seen, place // 3)
    assert found == pytest.approx(1 / (1 + np.exp(-fits.ravel())), abs=5e-3)


# --- the fusion ---


def test_the_fusion_is_fitted_to_people(
    folder: Path, trained: Path, tmp_path: Path, write_uice: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = write_uice(tmp_path / "small")
    texts = json.loads((folder / "train.json").read_text())
    rows = []
    for number, (image, several) in enumerate(texts.items()):
        for other, text in enumerate([several[0], several[1], *list(texts.values())[(number + 5) % len(texts)]]):
            fits = 5.0 if other < 2 else 0.0
            rows.append({"id": f"{number}-{other}", "image": image, "candidate": text, "human": fits})
    own = tmp_path / "own.jsonl"
    own.write_text("\n".join(map(json.dumps, rows)))
    config = FusionConfig(judgements=str(own), batch=16, epochs=20, spoiled=0.5)
    inputs = Inputs(features=(folder / "f.npz",), extra={"semantics": str(trained), "syntax": str(small / "syntax")})
    task = UiceTask(config, inputs)
    place = train(task, tmp_path / "fused")
    told = json.loads((place / "config.json").read_text())
    assert told["trained"]["validation"]["tau_b"] > 0.3
    assert any(each.startswith("judgements:") for each in told["facts"]["trained_on"])
    fusion = open_fusion(str(place))
    high, low = fusion.fuse(np.array([[0.95, 0.9], [0.01, 0.9]]))
    assert high > low
