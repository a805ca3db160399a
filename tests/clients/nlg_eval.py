"""As nlg-eval: all rows together, and one row alone; scorers are closed in the end."""

from __future__ import annotations

from capeval.compat import Bleu, Cider, Meteor, Rouge  # instead of nlgeval.pycocoevalcap


def compute_metrics(refs, hyps):
    scorers = [
        (Bleu(4), ["Bleu_1", "Bleu_2", "Bleu_3", "Bleu_4"]),
        (Meteor(), "METEOR"),
        (Rouge(), "ROUGE_L"),
        (Cider(), "CIDEr"),
    ]
    found = {}
    for scorer, method in scorers:
        score, _ = scorer.compute_score(refs, hyps)
        if isinstance(method, list):
            found.update(zip(method, score))
        else:
            found[method] = score
        if isinstance(scorer, Meteor):
            scorer.close()
    return found


def scores(references, results):
    refs = {i: [text.strip() for text in references[image]] for i, image in enumerate(results)}
    return compute_metrics(refs, {i: [text.strip()] for i, text in enumerate(results.values())})


def one(references, candidate):
    return compute_metrics({0: references}, {0: [candidate]})
