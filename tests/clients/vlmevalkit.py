"""As VLMEvalKit's COCO scorer: captions as they are, untokenised, under ids that are texts."""

from __future__ import annotations


class Scorer:
    def __init__(self, ref, gt):
        from pycocoevalcap.bleu.bleu import Bleu
        from pycocoevalcap.cider.cider import Cider
        from pycocoevalcap.rouge.rouge import Rouge

        self.ref, self.gt = ref, gt
        self.scorers = [
            (Bleu(4), ["Bleu_1", "Bleu_2", "Bleu_3", "Bleu_4"]),
            (Rouge(), "ROUGE_L"),
            (Cider(), "CIDEr"),
        ]

    def compute_scores(self):
        total = {}
        for scorer, method in self.scorers:
            print(f"computing {scorer.method()} score...")
            score, each = scorer.compute_score(self.gt, self.ref)
            if isinstance(method, list):
                for number, numbers, _ in zip(score, each, method):
                    assert len(numbers) == len(self.gt)
                    assert number >= 0
                total["Bleu"] = [number * 100 for number in score]
            else:
                total[method] = score * 100
        return total


def scores(references, results):
    ref = {str(i): [results[i]] for i in results}
    gt = {str(i): list(references[i]) for i in results}
    found = Scorer(ref, gt).compute_scores()
    bleu = found.pop("Bleu")
    return {f"Bleu_{n}": bleu[n - 1] for n in range(1, 5)} | found
