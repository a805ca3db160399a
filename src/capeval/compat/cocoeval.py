"""`COCOEvalCap`: all scores of a COCO result. Objects of pycocotools, or any with `getImgIds` and `imgToAnns`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from capeval.compat.cider import Cider
from capeval.compat.pycocoevalcap import Bleu, Meteor, PTBTokenizer, Rouge, Spice
from capeval.errors import Unavailable

# What is scored, in this order, and the names of its scores.
_SCORERS: list[tuple[Callable[[], Any], list[str]]] = [
    (Bleu, ["Bleu_1", "Bleu_2", "Bleu_3", "Bleu_4"]),
    (Meteor, ["METEOR"]),
    (Rouge, ["ROUGE_L"]),
    (Cider, ["CIDEr"]),
    (Spice, ["SPICE"]),
]


class COCOEvalCap:
    """After `evaluate()`: `eval` name -> score, `imgToEval` image -> its scores, `evalImgs` the same as a list.

    `params["image_id"]` may be set to some of the images. A metric whose data are not on this machine is left out with
    a warning that says how to get them.
    """

    scorers = _SCORERS

    def __init__(self, coco: Any, cocoRes: Any) -> None:  # noqa: N803, as they are called there
        self.coco, self.cocoRes = coco, cocoRes
        self.params: dict[str, Any] = {"image_id": coco.getImgIds()}
        self.eval: dict[str, Any] = {}
        self.imgToEval: dict[Any, dict[str, Any]] = {}
        self.evalImgs: list[dict[str, Any]] = []

    def evaluate(self) -> None:
        images = self.params["image_id"]
        gts = PTBTokenizer.tokenize({image: self.coco.imgToAnns[image] for image in images})
        res = PTBTokenizer.tokenize({image: self.cocoRes.imgToAnns[image] for image in images})
        for make, names in self.scorers:
            scorer = make()
            try:
                score, scores = scorer.compute_score(gts, res)
            except Unavailable as problem:
                warnings.warn(f"{names[0]} is left out: {problem}", stacklevel=2)
                continue
            # Spice gives its images sorted.
            order: Iterable[Any] = sorted(gts) if isinstance(scorer, Spice) else gts
            for name, total, each in zip(names, *((score, scores) if len(names) > 1 else ([score], [scores]))):
                self.setEval(total, name)
                self.setImgToEvalImgs(each, order, name)
                print(f"{name}: {total:.3f}")
        self.setEvalImgs()

    def setEval(self, score: Any, method: str) -> None:  # noqa: N802
        self.eval[method] = score

    def setImgToEvalImgs(self, scores: Sequence[Any], imgIds: Iterable[Any], method: str) -> None:  # noqa: N802, N803
        for image, score in zip(imgIds, scores):
            self.imgToEval.setdefault(image, {"image_id": image})[method] = score

    def setEvalImgs(self) -> None:  # noqa: N802
        self.evalImgs = list(self.imgToEval.values())


class COCOEvalCapSpice(COCOEvalCap):
    """SPICE alone."""

    scorers = _SCORERS[-1:]
