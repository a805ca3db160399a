"""As the example of pycocoevalcap: objects of pycocotools, on some of the images."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from pycocoevalcap.eval import COCOEvalCap
from pycocotools.coco import COCO


def files(folder, references, results):
    annotations = [
        {"image_id": image, "caption": text, "id": 1000 * i + j}
        for i, (image, texts) in enumerate(references.items())
        for j, text in enumerate(texts)
    ]
    known = {"annotations": annotations, "images": [{"id": image} for image in references]}
    Path(folder, "references.json").write_text(json.dumps(known))
    rows = [{"image_id": image, "caption": text} for image, text in results.items()]
    Path(folder, "results.json").write_text(json.dumps(rows))


def scores(references, results):
    with tempfile.TemporaryDirectory() as folder:
        files(folder, references, results)
        coco = COCO(f"{folder}/references.json")
        found = coco.loadRes(f"{folder}/results.json")
        coco_eval = COCOEvalCap(coco, found)
        coco_eval.params["image_id"] = found.getImgIds()
        coco_eval.evaluate()
    assert {row["image_id"] for row in coco_eval.evalImgs} == set(results)
    assert coco_eval.imgToEval[next(iter(results))]["CIDEr"] >= 0
    return dict(coco_eval.eval)
