"""Our own metrics trained on a small world: each learns, and says the same without torch."""

# ruff: noqa: E402  (what needs torch is imported after asking whether it is there)

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")
pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
tokenizers = pytest.importorskip("tokenizers")

from safetensors.torch import save_file

from capeval.corpus import Corpus
from capeval.errors import DataError
from capeval.metrics.accord import Accord as AccordMetric
from capeval.models.accord import Accord, AccordShape, Words
from capeval.models.fluency import load_listener
from capeval.models.meaning import Encoder, load_minilm
from capeval.models.sight import Sight, SightShape
from capeval.models.sight_words import SightWords, SightWordsShape, borne_out, fits_of_all, fits_of_pairs
from capeval.runtime.accord import open_accord
from capeval.runtime.fluency import open_fluency
from capeval.runtime.meaning import open_meaning, sentence_cosines, words_found
from capeval.runtime.pieces import Pieces
from capeval.runtime.sight import open_sight
from capeval.runtime.sight_words import open_sight_words
from capeval.runtime.unified import INPUTS, open_judge
from capeval.train.checkpoint import BEST, load_weights
from capeval.train.loop import train
from capeval.train.task import Inputs
from capeval.train.tasks.accord.config import Config as AccordConfig
from capeval.train.tasks.accord.material import ANY, NEAR, OWN, WORSE
from capeval.train.tasks.accord.task import AccordTask
from capeval.train.tasks.fluency.config import Config as FluencyConfig
from capeval.train.tasks.fluency.task import FluencyTask
from capeval.train.tasks.meaning.config import Config as MeaningConfig
from capeval.train.tasks.meaning.task import MeaningTask, matched, ordered, read_captions
from capeval.train.tasks.sight.config import Config as SightConfig
from capeval.train.tasks.sight.task import SightTask, in_proportion, nearest
from capeval.train.tasks.sight_words.config import Config as SightWordsConfig
from capeval.train.tasks.sight_words.task import SightWordsTask
from capeval.train.tasks.unified.config import Config as UnifiedConfig
from capeval.train.tasks.unified.task import UnifiedTask
from capeval.types import Dataset, Sample

WHO = ["dog", "cat", "man", "woman", "horse", "bird"]
WHERE = ["park", "street", "house", "beach", "river"]
WIDTH, LAYERS, DIM = 64, 2, 16


def captions_of(who: str, where: str) -> list[str]:
    return [f"a {who} sits in the {where}", f"the {who} near a {where}", f"one {who} at the {where}"]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pictures of somebody somewhere, captions, judgements of them, and a MiniLM that knows nothing yet."""
    place = tmp_path_factory.mktemp("world")
    pairs = [(who, where) for who in WHO for where in WHERE]
    ids = [f"{number:012d}" for number in range(1, 61)]
    shown = {image: pairs[number % len(pairs)] for number, image in enumerate(ids)}
    _write_data(place / "data", ids[:40], shown)
    references = {image: captions_of(*shown[image]) for image in ids[40:52]}
    (place / "train.json").write_text(json.dumps(references))
    (place / "val.json").write_text(json.dumps({image: captions_of(*shown[image]) for image in ids[52:]}))
    random = np.random.default_rng(0)
    looks = {word: random.standard_normal(DIM) for word in [*WHO, *WHERE]}
    vectors = np.stack([looks[shown[image][0]] + looks[shown[image][1]] for image in ids])
    regions = np.stack([[looks[word] for word in shown[image] for _ in "ab"] for image in ids])
    np.savez(place / "f.npz", ids=np.array(ids), vectors=vectors.astype(np.float32), regions=regions.astype(np.float32))
    _write_minilm(place / "minilm")
    return place


def _write_data(root: Path, ids: list[str], shown: dict[str, tuple[str, str]]) -> None:
    (root / "judgements").mkdir(parents=True)
    random = np.random.default_rng(1)
    sits, sts, swaps = [], [], []
    for number, image in enumerate(ids):
        own = captions_of(*shown[image])
        other = ids[(number + 1) % len(ids)]
        theirs = captions_of(*shown[other])
        for kind, text, of, score in (("own", own[0], image, 4.8), ("other", theirs[0], other, 0.4)):
            common = {"coco_id": int(image), "coco_id_candidate": int(of), "candidate": text}
            sits.append({"id": f"sits-{kind}-{number}", **common, "references": own[1:], "score": score})
            sts.append(
                {"id": f"sts-{kind}-{number}", **common, "references": own[1:2], "score": score - random.random() / 9}
            )
        who, where = shown[image]
        swapped = f"a {where} sits in the {who}"
        swaps.append(
            {"id": f"s-{number}", "coco_id": int(image), "positive": own[0], "negative": swapped, "references": own[1:]}
        )
    for name, rows in (("cxc_sits", sits), ("cxc_sts", sts), ("negclip", swaps)):
        text = "\n".join(map(json.dumps, rows))
        (root / "judgements" / f"{name}_train.jsonl.gz").write_bytes(gzip.compress(text.encode()))


def _write_minilm(folder: Path) -> None:
    folder.mkdir()
    words = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "a",
        "the",
        "one",
        "sits",
        "in",
        "near",
        "at",
        "and",
        "with",
        "next",
        "to",
        "behind",
        "beside",
        "holding",
        "two",
        "blue",
        "red",
    ]
    vocabulary = {word: number for number, word in enumerate([*words, *WHO, *WHERE, "##s"])}
    made = tokenizers.Tokenizer(tokenizers.models.WordPiece(vocabulary, unk_token="[UNK]"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    ends = [("[CLS]", vocabulary["[CLS]"]), ("[SEP]", vocabulary["[SEP]"])]
    made.post_processor = tokenizers.processors.TemplateProcessing("[CLS] $A [SEP]", None, ends)
    made.save(str(folder / "tokenizer.json"))
    torch.manual_seed(0)

    def drawn(*size: int) -> Any:
        return torch.randn(*size) * 0.2

    given = {
        "embeddings.word_embeddings.weight": torch.randn(len(vocabulary), WIDTH),
        "embeddings.position_embeddings.weight": drawn(80, WIDTH),
        "embeddings.token_type_embeddings.weight": drawn(2, WIDTH),
    }
    norms = ["embeddings.LayerNorm"]
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}"
        for name in ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"):
            given |= {f"{at}.{name}.weight": drawn(WIDTH, WIDTH), f"{at}.{name}.bias": drawn(WIDTH)}
        given |= {f"{at}.intermediate.dense.weight": drawn(96, WIDTH), f"{at}.intermediate.dense.bias": drawn(96)}
        given |= {f"{at}.output.dense.weight": drawn(WIDTH, 96), f"{at}.output.dense.bias": drawn(WIDTH)}
        norms += [f"{at}.attention.output.LayerNorm", f"{at}.output.LayerNorm"]
    for name in norms:
        given |= {f"{name}.weight": torch.ones(WIDTH), f"{name}.bias": torch.zeros(WIDTH)}
    save_file(given, folder / "model.safetensors")


@pytest.fixture(scope="module")
def meaning(world: Path) -> Path:
    config = MeaningConfig(
        epochs=2, steps=12, batch=6, pairs=6, groups=4, learning_rate=2e-3, frozen=0, word_width=16, pieces=24,
        sources=(str(world / "train.json"),), bfloat16=False, average=0, kept=0,
    )  # fmt: skip
    inputs = Inputs(data=world / "data", extra={"minilm": str(world / "minilm")})
    return train(MeaningTask(config, inputs), world / "meaning")


def test_meaning_learns_what_people_say(meaning: Path) -> None:
    log = [json.loads(line) for line in (meaning / "log.jsonl").read_text().splitlines()]
    assert log[-1]["loss"] < log[0]["loss"]
    assert log[-1]["validation"]["sts"] > 0.5
    told = json.loads((meaning / "config.json").read_text())
    assert told["facts"]["pairs"] > 20


def test_meaning_says_the_same_without_torch(world: Path, meaning: Path) -> None:
    """Rounded to 8 bits, but the same captions are alike."""
    encoder = open_meaning(str(meaning))
    model = load_minilm(world / "minilm", 16)
    load_weights(model, meaning / BEST)
    texts = [text.split() for text in captions_of("dog", "park") + captions_of("cat", "river")]
    tokens, lengths = encoder.pieces.encode(texts)
    with torch.no_grad():
        read = model.eval()(torch.from_numpy(tokens), torch.from_numpy(lengths))
        by_chunks = read_captions(model, torch.from_numpy(tokens), torch.from_numpy(lengths))
    assert torch.allclose(by_chunks.sentences, read.sentences, atol=1e-5)
    found = encoder.read(texts)
    assert (found.sentences * read.sentences.numpy()).sum(1) == pytest.approx(np.ones(6), abs=0.02)
    own = read.words[0, 1 : int(lengths[0]) - 1].numpy()
    assert (found.words[: len(own)] * own).sum(1) == pytest.approx(np.ones(len(own)), abs=0.05)
    states = encoder.states(texts)
    assert [len(each) for each in states] == lengths.tolist()


def test_a_share_of_minilm_is_kept(world: Path) -> None:
    config = MeaningConfig(kept=0.25, word_width=16, pieces=24, sources=(str(world / "train.json"),), bfloat16=False)
    task = MeaningTask(config, Inputs(data=world / "data", extra={"minilm": str(world / "minilm")}))
    first, trained = load_minilm(world / "minilm", 16), load_minilm(world / "minilm", 16)
    with torch.no_grad():
        for weights in trained.parameters():
            weights += 1
    blended = dict(task._blended(trained).named_parameters())
    for name, weights in first.named_parameters():
        is_head = name.startswith(("word.", "sound.", "slopes", "offsets"))
        expected = dict(trained.named_parameters())[name] if is_head else weights + 0.75
        assert torch.allclose(blended[name], expected, atol=1e-6), name


def test_a_caption_is_read_alike_in_any_company(meaning: Path) -> None:
    encoder = open_meaning(str(meaning))
    texts = [text.split() for who in WHO for where in WHERE for text in captions_of(who, where)]
    together = encoder.read(texts, threads=2)
    for row in (0, 17, 44):
        alone = encoder.read([texts[row]])
        np.testing.assert_array_equal(alone.sentences[0], together.sentences[row])
        np.testing.assert_array_equal(alone.words, together.words[slice(*together.offsets[row : row + 2])])
    nothing = encoder.read([[], texts[0]])
    assert not nothing.sentences[0].any()
    assert nothing.offsets[:2].tolist() == [0, 0]


def test_words_match_as_in_training(meaning: Path, world: Path) -> None:
    encoder = open_meaning(str(meaning))
    texts = [["a", "dog", "sits", "in", "the", "park"], ["one", "cat", "at", "the", "river"]]
    read = encoder.read(texts)
    (found,), _ = words_found(read, np.array([0]), np.array([1]))
    first, second = read.words[:6], read.words[6:]
    fits = torch.from_numpy(first @ second.T)[None]
    weights = torch.from_numpy(read.weights)
    expected = matched(fits, weights[None, :6], weights[None, 6:])
    assert found == pytest.approx(float(expected[0]), abs=1e-5)
    assert sentence_cosines(read, np.array([0]), np.array([0]))[0] == pytest.approx(1, abs=1e-5)


def test_what_people_score_higher_should_fit_better() -> None:
    scores = torch.tensor([0.1, 0.5, 0.9])
    assert ordered(torch.tensor([0.0, 0.5, 1.0]), scores) < ordered(torch.tensor([1.0, 0.5, 0.0]), scores)
    assert ordered(torch.tensor([0.3, 0.1]), torch.tensor([0.5, 0.51])) == 0  # too near for an order


def test_without_minilm(world: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="the folder of MiniLM is needed"):
        MeaningTask(MeaningConfig(), Inputs(data=world / "data"))
    save_file({"other": torch.ones(1)}, tmp_path / "model.safetensors")
    with pytest.raises(DataError, match="not the weights of MiniLM"):
        load_minilm(tmp_path, 16)
    with pytest.raises(DataError, match="cannot be read"):
        load_minilm(tmp_path / "nowhere", 16)
    assert isinstance(load_minilm(world / "minilm", 16), Encoder)


@pytest.fixture(scope="module")
def fluency(world: Path) -> Path:
    config = FluencyConfig(
        epochs=2, steps=30, batch=16, learning_rate=2e-3, layers=1, pieces=24, average=0, bfloat16=False,
        sources=(str(world / "train.json"),), validation=(str(world / "val.json"),),
    )  # fmt: skip
    inputs = Inputs(data=world / "data", extra={"minilm": str(world / "minilm")})
    return train(FluencyTask(config, inputs), world / "fluency")


def test_fluency_hears_words_in_disorder(fluency: Path) -> None:
    told = json.loads((fluency / "config.json").read_text())["trained"]["validation"]
    assert told["area_permuted"] > 0.8
    assert told["area_listed"] > 0.9


def test_fluency_learns_that_captions_in_a_row_are_sound(world: Path) -> None:
    config = FluencyConfig(
        several=1.0, short=0.0, batch=40, pieces=24, sources=(str(world / "train.json"),), validation=(),
    )  # fmt: skip
    task = FluencyTask(config, Inputs(data=world / "data", extra={"minilm": str(world / "minilm")}))
    pictures = list(json.loads((world / "train.json").read_text()).values())
    for seed in range(20):
        own, broken = task._drawn(0, np.random.default_rng(seed))
        said = " ".join(own)
        together = [sorted(text for text in several if text in said) for several in pictures]
        assert any(len(texts) > 1 and sum(map(len, texts)) + len(texts) - 1 == len(said) for texts in together), said
        assert list(broken) != list(own)


def test_fluency_says_the_same_without_torch(world: Path, fluency: Path) -> None:
    network = open_fluency(str(fluency))
    model = load_listener(world / "minilm", 1)
    load_weights(model, fluency / BEST)
    texts = [["a", "dog", "sits", "in", "the", "park"], ["the", "the", "dog"], [], ["park", "a", "in", "dog", "sits"]]
    tokens, lengths = Pieces(world / "minilm" / "tokenizer.json", 24).encode(texts)
    with torch.no_grad():
        expected = model.eval()(torch.from_numpy(tokens), torch.from_numpy(lengths)).sigmoid().numpy()
    found = network.scores(texts, threads=2)
    assert found[2] == 0
    assert np.delete(found, 2) == pytest.approx(np.delete(expected, 2), abs=0.1)
    for row, text in enumerate(texts):
        assert network.scores([text])[0] == found[row]  # in any company


def test_fluency_needs_minilm_and_sentences(world: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="the folder of MiniLM is needed"):
        FluencyTask(FluencyConfig(), Inputs(data=world / "data"))
    short = tmp_path / "short.txt"
    short.write_text("word\n")
    inputs = Inputs(data=world / "data", extra={"minilm": str(world / "minilm")}, corpus=(short,))
    with pytest.raises(DataError, match="no sentence to learn from"):
        FluencyTask(FluencyConfig(sources=(str(world / "train.json"),)), inputs)


def accord_task(world: Path, meaning: Path) -> AccordTask:
    config = AccordConfig(
        epochs=12, batch=6, near=3, judged=8, learning_rate=3e-3, decay=1.0, width=32, average=0,
        sources=(str(world / "train.json"),), validation=(str(world / "val.json"),), bfloat16=False, dropout=0.0,
    )  # fmt: skip
    return AccordTask(config, Inputs(data=world / "data", extra={"meaning": str(meaning)}))


@pytest.fixture(scope="module")
def accord(world: Path, meaning: Path) -> Path:
    return train(accord_task(world, meaning), world / "accord")


def test_accord_learns_which_captions_belong(accord: Path) -> None:
    told = json.loads((accord / "config.json").read_text())
    assert told["trained"]["validation"]["sits"] > 0.3
    assert told["facts"]["pictures"] == 12
    log = [json.loads(line) for line in (accord / "log.jsonl").read_text().splitlines()]
    assert log[-1]["loss"] < log[0]["loss"]


def test_accord_has_captions_beside_the_others_of_their_picture(world: Path, meaning: Path) -> None:
    task = accord_task(world, meaning)
    material, random = task.material, np.random.default_rng(0)
    pictures = material.sources[0][:6]
    for place, number in enumerate(pictures.tolist()):
        references, shown = task._drawn(pictures, place, random)
        own = set(material.pictures[number].tolist())
        assert set(references) <= own
        ((caption, _),) = [each for each in shown if each[1] == OWN]
        assert caption in own - set(references)
        group = set(range(place // 3 * 3, place // 3 * 3 + 3)) - {place}
        near, others = (
            {caption for each in where for caption in material.pictures[pictures[each]].tolist()}
            for where in (group, set(range(6)) - group - {place})
        )
        assert {each for each, kind in shown if kind == NEAR} <= near
        assert {each for each, kind in shown if kind == ANY} <= others
        assert {each for each, kind in shown if kind == WORSE} <= {made.caption for made in material.made[number]}
        assert sum(kind == NEAR for _, kind in shown) == 2


def test_accord_says_the_same_without_torch(world: Path, meaning: Path, accord: Path) -> None:
    network = open_accord(str(accord), str(meaning))
    model = Accord(AccordShape(WIDTH, 32)).eval()
    load_weights(model, accord / BEST)
    texts = [["a", "dog", "near", "a", "park"], ["the", "dog", "sits", "in", "the", "park"], ["one", "cat"]]
    states = [torch.from_numpy(each) for each in network.meaning.states(texts)]
    lengths = torch.tensor([len(each) for each in states])
    with torch.no_grad():
        words = model.words(torch.nn.utils.rnn.pad_sequence(states, batch_first=True), lengths)
        rows = words.rows(torch.tensor([0, 2])), words.rows(torch.tensor([[1, 2], [0, 1]]))
        expected = (model.slope * model(*rows) + model.offset).sigmoid().numpy()
    samples = [
        Sample("1", "1", " ".join(texts[0]), (" ".join(texts[1]), " ".join(texts[2]))),
        Sample("2", "1", " ".join(texts[2]), (" ".join(texts[0]), " ".join(texts[1]))),
    ]
    metric = AccordMetric(checkpoint=str(accord), meaning=str(meaning))
    assert metric.stats(Corpus(Dataset.from_samples(samples)))[:, 0] == pytest.approx(expected, abs=5e-3)


def test_what_is_no_word_does_not_count() -> None:
    torch.manual_seed(0)
    model = Accord(AccordShape(8, 8)).eval()

    def drawn(*size: int) -> Words:
        return Words(torch.randn(*size, 8), torch.rand(*size), torch.ones(*size, dtype=torch.bool))

    own, others = drawn(1, 3), drawn(1, 2, 4)
    alone = model(own, others)
    wide_own, wide_others = drawn(1, 5), drawn(1, 3, 6)
    for wide, narrow, part in ((wide_own, own, (slice(3),)), (wide_others, others, (slice(2), slice(4)))):
        wide.is_word.zero_()
        wide.telling.zero_()
        for into, given in zip(wide, narrow):
            into[(slice(None), *part)] = given
    assert torch.allclose(model(wide_own, wide_others), alone, atol=1e-5)
    assert not torch.allclose(model(own, drawn(1, 2, 4)), alone, atol=1e-3)


@pytest.fixture(scope="module")
def sight(world: Path, meaning: Path) -> Path:
    config = SightConfig(
        epochs=25, batch=6, near=3, apart=20, judged=8, learning_rate=3e-3, decay=1.0, width=32,
        sources=(str(world / "train.json"),), validation=(str(world / "val.json"),), bfloat16=False, dropout=0.0,
    )  # fmt: skip
    inputs = Inputs(data=world / "data", features=(world / "f.npz",), extra={"meaning": str(meaning)})
    return train(SightTask(config, inputs), world / "sight")


def test_sight_finds_what_it_has_never_seen(sight: Path) -> None:
    told = json.loads((sight / "config.json").read_text())
    assert told["trained"]["validation"]["sits"] > 0.3
    assert told["facts"]["pictures"] == 12
    log = [json.loads(line) for line in (sight / "log.jsonl").read_text().splitlines()]
    assert log[-1]["loss"] < log[0]["loss"]


def test_sight_says_the_same_without_torch(world: Path, meaning: Path, sight: Path) -> None:
    network = open_sight(str(sight), str(meaning))
    model = Sight(SightShape(DIM, DIM, WIDTH, width=32)).eval()
    load_weights(model, sight / BEST)
    texts = [["a", "dog", "near", "a", "park"], ["a", "cat", "sits"]]
    with np.load(world / "f.npz") as stored:
        vectors, regions = stored["vectors"][:2], stored["regions"][:2]
    with torch.no_grad():
        read = torch.cat([model.read(torch.from_numpy(each[None])) for each in network.meaning.states(texts)])
        seen = model.look(torch.from_numpy(vectors), torch.from_numpy(regions))
    assert network.read(texts) == pytest.approx(read.numpy(), abs=5e-3)
    assert network.look(vectors, regions) == pytest.approx(seen.numpy(), abs=5e-3)
    both = np.array([0, 1])
    scores = network.fit(network.cosines(network.read(texts), both, network.look(vectors, regions), both))
    logits = model.logits((read * seen).sum(-1)).detach().numpy()
    assert scores == pytest.approx(1 / (1 + np.exp(-logits)), abs=1e-2)
    assert not network.read([[]]).any()


@pytest.fixture(scope="module")
def sight_words(world: Path, meaning: Path) -> Path:
    config = SightWordsConfig(
        epochs=25, batch=6, near=3, apart=20, judged=8, learning_rate=3e-3, decay=1.0, width=32,
        sources=(str(world / "train.json"),), validation=(str(world / "val.json"),), bfloat16=False, dropout=0.0,
    )  # fmt: skip
    inputs = Inputs(data=world / "data", features=(world / "f.npz",), extra={"meaning": str(meaning)})
    return train(SightWordsTask(config, inputs), world / "sight-words")


def test_words_are_found_in_pictures_never_seen(sight_words: Path) -> None:
    told = json.loads((sight_words / "config.json").read_text())
    assert told["trained"]["validation"]["sits"] > 0.3
    log = [json.loads(line) for line in (sight_words / "log.jsonl").read_text().splitlines()]
    assert log[-1]["loss"] < log[0]["loss"]


def test_words_are_found_alike_without_torch(world: Path, meaning: Path, sight_words: Path) -> None:
    network = open_sight_words(str(sight_words), str(meaning))
    model = SightWords(SightWordsShape(DIM, DIM, WIDTH, width=32)).eval()
    load_weights(model, sight_words / BEST)
    texts = [["a", "dog", "near", "a", "park", "and", "the", "cat", "with", "a", "car"], ["a", "cat", "sits"]]
    with np.load(world / "f.npz") as stored:
        vectors, regions = stored["vectors"][:2], stored["regions"][:2]
    states = [torch.from_numpy(each) for each in network.meaning.states(texts)]
    lengths = torch.tensor([len(each) for each in states])
    with torch.no_grad():
        words = model.telling_words(torch.nn.utils.rnn.pad_sequence(states, batch_first=True), lengths)
        seen = model.look(torch.from_numpy(vectors), torch.from_numpy(regions))
        pairs, every = fits_of_pairs(seen, words), fits_of_all(seen, words)
    assert every.diagonal().numpy() == pytest.approx(pairs.numpy(), abs=1e-5)
    read, looked = network.read(texts), network.look(vectors, regions)
    assert read.shares == pytest.approx(words.shares.numpy(), abs=5e-3)
    assert looked == pytest.approx(seen.numpy(), abs=5e-3)
    scores = network.scores(network.cosines(read.vectors, looked).max(axis=2), read.shares)
    assert scores == pytest.approx(model.logits(pairs).sigmoid().detach().numpy(), abs=1e-2)
    assert not network.read([[]]).shares.any()


def test_the_worst_word_decides_most() -> None:
    shares = torch.full((2, 4), 0.25)
    even, one_wrong = borne_out(torch.tensor([[0.4, 0.4, 0.4, 0.4], [0.6, 0.6, 0.6, -0.2]]), shares)
    assert float(even) == pytest.approx(0.4)
    assert float(one_wrong) < 0.4 - 0.05
    assert float(borne_out(torch.tensor([0.6, -0.2]), torch.tensor([1.0, 0.0]))) == pytest.approx(0.6)


def test_captions_should_fit_as_they_are_alike() -> None:
    alike = torch.tensor([[0.9, 0.2, 0.5], [0.1, 0.8, 0.3], [0.4, 0.3, 0.7]])
    assert float(in_proportion(3 * alike - 1, alike)) == pytest.approx(0, abs=1e-6)
    assert in_proportion(-alike, alike) > in_proportion(alike.T, alike) > 0
    least = nearest(10 * alike, 10 * alike)
    assert least < nearest(10 * torch.eye(3), 10 * alike)  # all other captions are not equally wrong
    assert least < nearest(-10 * alike, 10 * alike)


def test_regions_are_needed(world: Path, meaning: Path, tmp_path: Path) -> None:
    with np.load(world / "f.npz") as stored:
        np.savez(tmp_path / "f.npz", ids=stored["ids"], vectors=stored["vectors"])
    inputs = Inputs(data=world / "data", features=(tmp_path / "f.npz",), extra={"meaning": str(meaning)})
    with pytest.raises(DataError, match="no regions"):
        SightTask(SightConfig(sources=(str(world / "train.json"),)), inputs)


def test_the_whole_is_fitted_and_never_falls(world: Path, meaning: Path, sight: Path, tmp_path: Path) -> None:
    text = f"meaning(checkpoint={json.dumps(str(meaning))})"
    look = f"sight(checkpoint={json.dumps(str(sight))}, meaning={json.dumps(str(meaning))})"
    config = UnifiedConfig(
        epochs=15,
        batch=32,
        both=(text, "bleu_1", look),
        references=(text, "bleu_1"),
        pictures=(look,),
        people=(str(world / "train.json"),),
    )
    task = UnifiedTask(config, Inputs(data=world / "data", features=(world / "f.npz",)))
    gate, broken = task.build().gate, task.fitted.values[task.fitted.is_broken]
    written = (task.fitted.values[task.fitted.is_judged], *task._heard)
    odds = [gate.odds(task._given(people)["sound"]) for people in written]
    # In the source that fares worst, that share of captions is spared, and no more.
    assert float(min(torch.quantile(each, 1 - config.spared) for each in odds)) == pytest.approx(0, abs=1e-3)
    assert gate(task._given(broken)["sound"]).mean() < 0.5
    steeper = task.of_fewer(replace(config, strictness=3 * config.strictness)).build().gate
    for people, before in zip(written, odds):
        assert torch.allclose(steeper.odds(task._given(people)["sound"]), 3 * before, rtol=1e-3, atol=1e-3)
    _check_that_kinds_count_the_same(task)
    drawn = next(iter(task.batches(1, np.random.default_rng(0))))
    sizes = [len(drawn[key]) for key in ("any", "others", "worse", "worse", "likeness")]
    assert len(drawn["both"]) == len(drawn["sound"]) == sum(sizes)
    is_any_other = task.fitted.is_of_any_other
    assert is_any_other.any()
    assert not (is_any_other & (task.fitted.is_judged | task.fitted.is_broken)).any()
    others = task.fitted.targets[task.fitted.is_judged & ~task.fitted.is_own].astype(np.float32)
    assert min(others) > 0
    # Those of any other picture are the worst among them.
    assert {0.0} < set(drawn["others"].tolist()) <= {0.0, *others.tolist()}
    place = train(task, tmp_path / "unified")
    told = json.loads((place / "config.json").read_text())
    assert told["trained"]["validation"]["tau_both"] > 0.3
    assert told["facts"]["trained_on"] == ["judgements:cxc"]
    judge = open_judge(str(place))
    random = np.random.default_rng(0)
    for inputs in INPUTS:
        weighing = judge.weighings[inputs]
        values = random.random((40, len(weighing.parts)))
        for part in range(len(weighing.parts)):
            more = values.copy()
            more[:, part] += random.random(40) * (1 - more[:, part])
            assert (weighing.scores(more) >= weighing.scores(values) - 1e-12).all()


def _check_that_kinds_count_the_same(task: UnifiedTask) -> None:
    """The scale is the same if there are three times as many captions that were written for their picture."""
    rows = task.fitted
    own = np.flatnonzero(rows.is_own)
    again = np.concatenate([np.arange(len(rows.values)), own, own])
    more = task.of_fewer(task.config)
    more.fitted = rows._replace(
        values=rows.values[again], targets=rows.targets[again], is_judged=rows.is_judged[again],
        is_own=rows.is_own[again], is_broken=rows.is_broken[again], of=rows.of[again],
    )  # fmt: skip
    one, other = task.build(), task.build()
    task._calibrate(one)
    more._calibrate(other)
    for name in INPUTS:
        assert torch.allclose(one.weighings[name].weights, other.weighings[name].weights, rtol=0.02), name
        assert not torch.allclose(one.weighings[name].weights, task.build().weighings[name].weights, rtol=0.02), name
