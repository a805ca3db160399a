"""As meshed-memory-transformer: a static tokenizer, lists, CIDEr with the frequencies of the training captions."""

from __future__ import annotations

import itertools

import numpy as np

from capeval.compat import Bleu, Cider, Meteor, PTBTokenizer, Rouge  # instead of its folder `evaluation`


def compute_scores(gts, gen):
    all_score, all_scores = {}, {}
    for metric in (Bleu(), Meteor(), Rouge(), Cider()):
        all_score[str(metric)], all_scores[str(metric)] = metric.compute_score(gts, gen)
    return all_score, all_scores


def scores(references, results):
    gts = {f"0_{i}": list(references[i]) for i in results}
    gen = {f"0_{i}": [" ".join(word for word, _ in itertools.groupby(results[i].split()))] for i in results}
    found, _ = compute_scores(PTBTokenizer.tokenize(gts), PTBTokenizer.tokenize(gen))

    cider = Cider(PTBTokenizer.tokenize([text for each in references.values() for text in each]))
    beam = 2
    caps_gen = [text for text in results.values() for _ in range(beam)]
    caps_gt = list(itertools.chain(*([references[i]] * beam for i in results)))
    reward = cider.compute_score(PTBTokenizer.tokenize(caps_gt), PTBTokenizer.tokenize(caps_gen))[1].astype(np.float32)
    named = {"METEOR": found["METEOR"], "ROUGE_L": found["ROUGE"], "CIDEr": found["CIDEr"]}
    bleu = {f"Bleu_{n}": found["BLEU"][n - 1] for n in range(1, 5)}
    return bleu | named | {"reward": float(reward.mean())}
