"""As clipscore's generation_eval_utils: lists, tokenised anew for each scorer, SPICE among them."""

from __future__ import annotations

from pycocoevalcap.bleu.bleu import Bleu
from pycocoevalcap.cider.cider import Cider
from pycocoevalcap.meteor.meteor import Meteor
from pycocoevalcap.rouge.rouge import Rouge
from pycocoevalcap.spice.spice import Spice
from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer


def tokenize(refs, cands):
    tokenizer = PTBTokenizer()
    refs = {i: [{"caption": r} for r in each] for i, each in enumerate(refs)}
    cands = {i: [{"caption": c}] for i, c in enumerate(cands)}
    return tokenizer.tokenize(refs), tokenizer.tokenize(cands)


def evaluate(scorer, refs, cands):
    return scorer.compute_score(*tokenize(refs, cands))


def scores(references, results, with_spice=True):
    refs, cands = [references[i] for i in results], list(results.values())
    found = {}
    for make, name in ((lambda: Bleu(4), "Bleu"), (Meteor, "METEOR"), (Rouge, "ROUGE_L"), (Cider, "CIDEr")):
        found[name], _ = evaluate(make(), refs, cands)
    bleu = found.pop("Bleu")
    found |= {f"Bleu_{n}": bleu[n - 1] for n in range(1, 5)}
    if with_spice:
        found["SPICE"], each = evaluate(Spice(), refs, cands)
        assert all("f" in item["All"] and "Color" in item for item in each)
    return found
