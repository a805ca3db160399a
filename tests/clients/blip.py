"""As BLIP and LAVIS: `coco_caption_eval` on two files, scores printed with three digits, the object returned."""

from __future__ import annotations

import json
import os
import tempfile

from pycocoevalcap.eval import COCOEvalCap
from pycocotools.coco import COCO


def coco_caption_eval(root, results_file, split):
    coco = COCO(os.path.join(root, {"val": "val_gt.json"}[split]))
    coco_eval = COCOEvalCap(coco, coco.loadRes(results_file))
    coco_eval.evaluate()
    for metric, score in coco_eval.eval.items():
        print(f"{metric}: {score:.3f}")
    return coco_eval


def scores(references, results):
    with tempfile.TemporaryDirectory() as folder:
        texts = [(image, text) for image, each in references.items() for text in each]
        known = [{"image_id": image, "caption": text, "id": i} for i, (image, text) in enumerate(texts)]
        with open(os.path.join(folder, "val_gt.json"), "w") as stream:
            json.dump({"annotations": known, "images": [{"id": image} for image in references]}, stream)
        with open(os.path.join(folder, "val_epoch0.json"), "w") as stream:
            json.dump([{"image_id": image, "caption": text} for image, text in results.items()], stream)
        coco_val = coco_caption_eval(folder, os.path.join(folder, "val_epoch0.json"), "val")
    return {f"val_{k}": v for k, v in coco_val.eval.items()}
