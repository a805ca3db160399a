"""As ImageCaptioning.pytorch: captions as numbers of words, CIDEr-D with frequencies out of a file, as a reward.

Where there is no `data/coco-train-idxs.p` in the working folder, document frequencies are those of the batch.
"""

from __future__ import annotations

import os
from collections import OrderedDict

import numpy as np
from pyciderevalcap.ciderD.ciderD import CiderD


def as_text(numbers):
    """Up to the 0 that ends a caption, and with it."""
    words = [str(number) for number in numbers]
    return " ".join(words[: words.index("0") + 1] if "0" in words else words)


def rewards(scorer, sampled, greedy, ground_truth):
    """Of each sampled caption, how much better it is than the greedy one of its image."""
    per_image = len(sampled) // len(ground_truth)
    res = OrderedDict((i, [as_text(row)]) for i, row in enumerate([*sampled, *greedy]))
    known = [[as_text(row) for row in rows] for rows in ground_truth]
    gts = {i: known[i // per_image] for i in range(len(sampled))}
    gts |= {i + len(sampled): known[i] for i in range(len(greedy))}
    _, found = scorer.compute_score(gts, [{"image_id": i, "caption": res[i]} for i in res])
    return found[: len(sampled)] - found[len(sampled) :].repeat(per_image)


def scores(references, results):
    number = {}

    def numbers(text):
        return np.array([number.setdefault(word, len(number) + 1) for word in text.split()] + [0])

    ground_truth = [[numbers(text) for text in references[image]] for image in results]
    greedy = [numbers(text) for text in results.values()]
    sampled = [rows[0] for rows in ground_truth for _ in range(2)]
    name = "coco-train-idxs" if os.path.exists("data/coco-train-idxs.p") else "corpus"
    found = rewards(CiderD(df=name), sampled, greedy, ground_truth)
    return {"reward": float(found.mean()), "first": float(found[0]), "last": float(found[-1])}
