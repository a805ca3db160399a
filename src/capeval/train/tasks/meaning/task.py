"""Training the sentence encoder: what a step is, what is minimised, and how near it comes to people."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from capeval.bench.correlation import correlations
from capeval.errors import DataError
from capeval.models.meaning import Encoder, Read, load_minilm
from capeval.perturb.worse import Worsener, tagged
from capeval.runtime.meaning import SCALES, TOKENIZER, encoder_outputs
from capeval.runtime.pieces import Pieces
from capeval.train.checkpoint import write_bytes
from capeval.train.data import some_of
from capeval.train.facts import digest_of
from capeval.train.parts import judged, swapped
from capeval.train.task import Arrays, Batch, Inputs, Task
from capeval.train.tasks.meaning.config import Config
from capeval.train.tasks.meaning.export import export_encoder
from capeval.train.tasks.meaning.material import (
    Beside,
    Item,
    broken_captions,
    tokenised_groups,
    tokenised_pairs,
    tokenised_swaps,
)
from capeval.train.tasks.uice_syn.task import area

MINILM = "minilm"
_HEADS = ("word.", "sound.", "slopes", "offsets")
_BESIDE = 2
_SHARPNESS = 20.0
_CLEAR = 0.04
"""By how much two human scores, from 0 to 1, must differ for their order to count."""
_CHUNK = 48
_HEARD = 600
_CALIBRATION = 400


class MeaningTask(Task[Encoder]):
    name: ClassVar[str] = "meaning"
    monitor = "chosen"
    extras = (MINILM,)

    def __init__(self, config: Config, inputs: Inputs) -> None:
        self.config: Config = config
        if MINILM not in inputs.extra:
            raise DataError(
                "the folder of MiniLM is needed, as `minilm` (docs/metrics/meaning.md)", remedy="training_inputs"
            )
        self.folder = Path(inputs.extra[MINILM])
        self.pieces = Pieces(self.folder / TOKENIZER, config.pieces)
        self.sources = config.sources
        run = inputs.run
        self.pairs = tokenised_pairs(judged("sts", "A", inputs.data), run)
        self.groups = tokenised_groups(judged("sits", "A", inputs.data), run)
        self.swaps = tokenised_swaps(swapped("A", inputs.data), run)
        self.beside = [Beside(source, config, inputs) for source in config.sources]
        self.worsener = Worsener(each for source in self.beside for each in source.tagged)
        self.idf = self._frequencies()
        some = config.validation
        self.pairs_there = tokenised_pairs(some_of(judged("sts", "C", inputs.data), some), run)
        self.groups_there = tokenised_groups(some_of(judged("sits", "C", inputs.data), some), run)
        self.swaps_there = tokenised_swaps(some_of(swapped("C", inputs.data), some // 2), run)
        random = np.random.default_rng(0)
        sound = tagged([row.one for row in self.pairs_there[:: max(1, len(self.pairs_there) // _HEARD)]], run)
        self.sound_there = [list(each.words) for each in sound]
        self.broken_there = broken_captions(sound, self.worsener, ("permuted", "replaced", "permuted", "cut"), random)

    def _frequencies(self) -> Any:
        """How much each piece says: the logarithm of how few captions have it; begin and end say nothing."""
        counts: Counter[int] = Counter()
        captions = [caption for source in self.beside for several in source.captions for caption in several]
        for begin in range(0, len(captions), 1 << 14):
            tokens, _ = self.pieces.encode(captions[begin : begin + (1 << 14)])
            for row in tokens:
                counts.update(set(row.tolist()))
        found = np.full(self.pieces.size, np.log(len(captions) + 1.0), np.float32)
        for piece, count in counts.items():
            found[piece] = np.log((len(captions) + 1) / (count + 1))
        found[[0, *self.pieces.ends]] = 0
        return found

    def build(self) -> Encoder:
        model = load_minilm(self.folder, self.config.word_width, self.config.dropout)
        nn.init.orthogonal_(model.word.weight)  # keeps what vectors have in common
        model.pieces.weight.requires_grad_(False)
        for layer in model.layers[: self.config.frozen]:
            layer.requires_grad_(False)
        return model

    def _blended(self, model: Encoder) -> Encoder:
        """The model with a share of MiniLM's own weights."""
        if not self.config.kept:
            return model
        first = dict(load_minilm(self.folder, self.config.word_width).named_parameters())
        made = deepcopy(model)
        with torch.no_grad():
            for name, weights in made.named_parameters():
                if not name.startswith(_HEADS):  # MiniLM has none of them
                    weights.lerp_(first[name].to(weights.device), self.config.kept)
        return made

    def optimizer(self, model: nn.Module) -> torch.optim.Optimizer:
        assert isinstance(model, Encoder)
        rate, factor = self.config.learning_rate, self.config.heads_factor
        heads = [*model.word.parameters(), *model.sound.parameters()]
        scales = [model.slopes, model.offsets]
        others = {id(each) for each in [*heads, *scales]}
        body = [each for each in model.parameters() if each.requires_grad and id(each) not in others]
        groups = [
            {"params": body, "factor": 1.0},
            {"params": heads, "factor": factor},
            {"params": scales, "factor": 20 * factor},
        ]
        return torch.optim.AdamW(groups, lr=rate, weight_decay=self.config.weight_decay)

    def steps(self) -> int:
        return self.config.steps

    def batches(self, epoch: int, random: np.random.Generator) -> Iterator[Batch]:
        config = self.config
        for _ in range(config.steps):
            pairs = [self.pairs[row] for row in random.integers(len(self.pairs), size=config.pairs)]
            groups = [self.groups[row] for row in random.integers(len(self.groups), size=config.groups)]
            items = [self._item(number, random) for number in range(config.batch)]
            beside = [
                group.beside[place]
                for group in groups
                for place in random.choice(len(group.beside), _BESIDE, replace=len(group.beside) < _BESIDE)
            ]
            texts = [
                *(pair.one for pair in pairs), *(pair.other for pair in pairs), *(group.caption for group in groups),
                *beside, *(item.beside for item in items), *(item.caption for item in items),
                *(item.worse for item in items),
            ]  # fmt: skip
            tokens, lengths = self.pieces.encode(texts)
            yield {
                "tokens": torch.from_numpy(tokens),
                "lengths": torch.from_numpy(lengths),
                "weights": torch.from_numpy(self.idf[tokens]),
                "pair_scores": torch.tensor([pair.score for pair in pairs]),
                "group_scores": torch.tensor([group.score for group in groups]),
                "broken": torch.tensor([item.is_broken for item in items]),
            }

    def _item(self, number: int, random: np.random.Generator) -> Item:
        if random.random() < self.config.swapped and self.swaps:
            caption, worse, others = self.swaps[int(random.integers(len(self.swaps)))]
            return Item(others[int(random.integers(len(others)))], caption, worse, False)
        source = self.beside[number % len(self.beside)]
        return source.draw(self.worsener, self.config.broken, random)

    def loss(self, model: Encoder, batch: Batch) -> Tensor:
        config = self.config
        with torch.autocast(batch["tokens"].device.type, torch.bfloat16, enabled=config.bfloat16):
            read = read_captions(model, batch["tokens"], batch["lengths"])
        sizes = [config.pairs] * 2 + [config.groups, config.groups * _BESIDE] + [config.batch] * 3
        one, other, caption, several, beside, own, worse = parts(read, batch["weights"], sizes)
        pair_scores, group_scores = batch["pair_scores"], batch["group_scores"]
        total = torch.zeros(())
        for number, alike in enumerate((likeness, word_likeness)):
            fits = alike(one, other)
            logits = model.slopes[number] * fits + model.offsets[number]
            total = total + F.binary_cross_entropy_with_logits(logits, pair_scores) + ordered(fits, pair_scores)
            # Candidates beside each of their picture's captions, then the mean.
            repeated = [each.repeat_interleave(_BESIDE, 0) for each in caption]
            means = alike(repeated, several).unflatten(0, (-1, _BESIDE)).mean(1)
            total = total + ordered(means, group_scores)
        vectors = torch.cat([own[0], worse[0]])
        sentences = beside[0] @ vectors.T
        words = all_word_likeness(beside, [joined(a, b) for a, b in zip(own, worse)])
        place = torch.arange(config.batch)
        for fits in (sentences, words):
            right, wrong = fits.diagonal(), fits.diagonal(config.batch)
            total = total + config.contrast * (
                F.cross_entropy(fits / config.temperature, place)
                + F.cross_entropy(fits[:, : config.batch].T / config.temperature, place)
                + F.softplus((wrong - right) * _SHARPNESS).mean()
            )
        human = torch.cat([each[3] for each in (one, beside, own)])
        broken = worse[3][batch["broken"]]
        heard = F.softplus(-human).mean()
        if len(broken):
            heard = heard + F.softplus(broken).mean()
        return total + config.sound * heard

    def validate(self, model: Encoder) -> dict[str, float]:
        """Rank correlation with people, sentences and words; swapped words; broken captions told from sound ones."""
        table = Table(self._blended(model), self.pieces, self.idf)
        pairs, groups, swaps = self.pairs_there, self.groups_there, self.swaps_there
        table.read([text for pair in pairs for text in (pair.one, pair.other)])
        table.read([text for group in groups for text in (group.caption, *group.beside)])
        table.read([text for one, other, several in swaps for text in (one, other, *several)])
        found: dict[str, float] = {}
        for name, alike in (("", likeness), ("_words", word_likeness)):
            said = np.array([pair.score for pair in pairs])
            fits = table.alike([pair.one for pair in pairs], [pair.other for pair in pairs], alike)
            found[f"sts{name}"] = correlations(said, fits)["spearman"].value
            said = np.array([group.score for group in groups])
            means = table.means([(group.caption, group.beside) for group in groups], alike)
            found[f"sits{name}"] = correlations(said, means)["kendall_b"].value
            right = table.means([(one, several) for one, _, several in swaps], alike)
            wrong = table.means([(other, several) for _, other, several in swaps], alike)
            found[f"swapped{name}"] = float(((right > wrong) + 0.5 * (right == wrong)).mean())
        table.read([*self.sound_there, *self.broken_there])
        heard = table.sounds(self.sound_there), table.sounds(self.broken_there)
        found["heard"] = area(*heard)
        keys = ("sts", "sits", "swapped", "sts_words", "sits_words", "swapped_words", "heard")
        return {"chosen": float(np.mean([found[key] for key in keys])), **found}

    def export(self, model: Encoder, folder: Path) -> tuple[str, ...]:
        model = self._blended(model)
        captions = [
            caption for source in self.beside for several in source.captions[:_CALIBRATION] for caption in several
        ]
        tokens, lengths = self.pieces.encode(captions[:: max(1, len(captions) // _CALIBRATION)])
        stream = io.BytesIO()
        slopes, offsets = (each.double().numpy() for each in (model.slopes, model.offsets))
        np.savez_compressed(stream, slopes=slopes, offsets=offsets, idf=self.idf.astype(np.float16))
        write_bytes(folder / SCALES, stream.getvalue())
        return (*export_encoder(model, folder, [row[:length] for row, length in zip(tokens, lengths)]), SCALES)

    def probe(self, folder: Path) -> tuple[Arrays, Arrays]:
        random = np.random.default_rng(0)
        inputs: Arrays = {"tokens": random.integers(self.pieces.size // 10, self.pieces.size, (4, 7))}
        return inputs, encoder_outputs(folder, inputs)

    def assets(self) -> dict[str, bytes]:
        return {TOKENIZER: (self.folder / TOKENIZER).read_bytes()}

    def facts(self) -> dict[str, Any]:
        tokens, _ = self.pieces.encode([pair.one for pair in self.pairs[:1000]])
        return {
            "pairs": len(self.pairs),
            "groups": len(self.groups),
            "pictures": sum(map(len, self.beside)),
            "data": digest_of(tokens, self.idf),
        }


Part = Sequence[Tensor]
"""Sentences, words, weights of words, sounds."""


def read_captions(model: Encoder, tokens: Tensor, lengths: Tensor) -> Read:
    """Like the model itself, but captions of like lengths are read together, so that little is padded."""
    order = torch.argsort(lengths, stable=True)
    chunks = [model(tokens[rows, : int(lengths[rows].max())], lengths[rows]) for rows in order.split(_CHUNK)]
    back = torch.argsort(order)
    width = tokens.shape[1]

    def whole(kind: int) -> Tensor:
        wide = [F.pad(chunk[kind], (0, 0, 0, width - chunk[kind].shape[1])) for chunk in chunks]
        return torch.cat(wide)[back]

    sentences, sounds = (torch.cat([chunk[kind] for chunk in chunks])[back].float() for kind in (1, 3))
    return Read(torch.zeros(0), sentences, whole(2).float(), sounds)


def parts(read: Read, weights: Tensor, sizes: Sequence[int]) -> list[Part]:
    columns = [each.split(list(sizes)) for each in (read.sentences, read.words, weights, read.sounds)]
    return [tuple(column[place] for column in columns) for place in range(len(sizes))]


def joined(one: Tensor, other: Tensor) -> Tensor:
    return torch.cat([one, other])


def likeness(one: Part, other: Part) -> Tensor:
    """The cosine of row i with row i."""
    return (one[0] * other[0]).sum(-1)


def word_likeness(one: Part, other: Part) -> Tensor:
    """Each word finds its best, weighed by how much it says, both ways."""
    fits = one[1] @ other[1].transpose(1, 2)
    return matched(fits, one[2], other[2])


def all_word_likeness(one: Part, other: Part) -> Tensor:
    """[rows of one, rows of the other]"""
    fits = torch.einsum("ild,jmd->ijlm", one[1], other[1])
    return matched(fits, one[2][:, None], other[2][None])


def matched(fits: Tensor, weights: Tensor, others: Tensor) -> Tensor:
    """The harmonic mean of both ways; words that say nothing are not looked at."""
    hidden = torch.finfo(fits.dtype).min
    forth = fits.masked_fill((others == 0).unsqueeze(-2), hidden).amax(-1)
    back = fits.masked_fill((weights == 0).unsqueeze(-1), hidden).amax(-2)
    forth = (forth.clamp(min=0) * weights).sum(-1) / weights.sum(-1).clamp(min=1e-6)
    back = (back.clamp(min=0) * others).sum(-1) / others.sum(-1).clamp(min=1e-6)
    return 2 * forth * back / (forth + back).clamp(min=1e-6)


def ordered(fits: Tensor, scores: Tensor) -> Tensor:
    """Small if what people score higher fits better (CoSENT)."""
    apart = fits[:, None] - fits[None]
    wrong = scores[:, None] < scores[None] - _CLEAR
    return torch.logsumexp(torch.cat([torch.zeros(1), (apart * _SHARPNESS)[wrong]]), 0)


class Table:
    """Captions read once each."""

    def __init__(self, model: Encoder, pieces: Pieces, idf: Any) -> None:
        self._model, self._pieces, self._idf = model, pieces, idf
        self._number: dict[str, int] = {}
        self._read: list[Part] = []

    def read(self, texts: Sequence[Sequence[str]]) -> None:
        wanted = dict.fromkeys(" ".join(text) for text in texts if " ".join(text) not in self._number)
        new = [text.split(" ") for text in wanted]
        for begin in range(0, len(new), 1024):
            tokens, lengths = self._pieces.encode(new[begin : begin + 1024])
            wide = np.zeros((len(tokens), self._pieces.most), np.int64)
            wide[:, : tokens.shape[1]] = tokens
            with torch.autocast("cpu", torch.bfloat16):
                read = read_captions(self._model, torch.from_numpy(wide), torch.from_numpy(lengths))
            self._read.append((read.sentences, read.words, torch.from_numpy(self._idf[wide]), read.sounds))
        for text in wanted:
            self._number[text] = len(self._number)
        self._whole: Part = [torch.cat([part[kind] for part in self._read]) for kind in range(4)]
        self._read = [self._whole]

    def _rows(self, texts: Sequence[Sequence[str]]) -> Tensor:
        return torch.tensor([self._number[" ".join(text)] for text in texts])

    def alike(self, one: Sequence[Sequence[str]], other: Sequence[Sequence[str]], alike: Any) -> Any:
        found = []
        for mine, its in zip(self._rows(one).split(512), self._rows(other).split(512)):
            found.append(alike([each[mine] for each in self._whole], [each[its] for each in self._whole]))
        return torch.cat(found).double().numpy()

    def means(self, rows: Sequence[tuple[Sequence[str], Sequence[Sequence[str]]]], alike: Any) -> Any:
        """The mean of each caption's likeness to others."""
        fits = self.alike(
            [one for one, several in rows for _ in several], [each for _, several in rows for each in several], alike
        )
        counts = np.array([len(several) for _, several in rows])
        return np.add.reduceat(fits, np.cumsum([0, *counts[:-1]])) / counts

    def sounds(self, texts: Sequence[Sequence[str]]) -> Any:
        return self._whole[3][self._rows(texts)].double().numpy()
