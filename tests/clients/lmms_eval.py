"""As lmms-eval (coco_cap, flickr30k, nocaps, textcaps, youcook2): an index made by hand, one scorer at a time."""

from __future__ import annotations

from pycocoevalcap.eval import Bleu, Cider, COCOEvalCap, Meteor, Rouge, Spice  # noqa: F401
from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer
from pycocotools.coco import COCO

METRICS = ["Bleu_4", "Bleu_3", "Bleu_2", "Bleu_1", "METEOR", "ROUGE_L", "CIDEr"]


def aggregate(results, metric):
    scorers = {
        "Bleu_1": Bleu(4), "Bleu_2": Bleu(4), "Bleu_3": Bleu(4), "Bleu_4": Bleu(4),
        "METEOR": Meteor(), "ROUGE_L": Rouge(), "CIDEr": Cider(),
    }  # fmt: skip
    dataset = {"annotations": [], "images": []}
    for result in results:
        for answer in result["answer"]:
            number = len(dataset["annotations"])
            dataset["annotations"].append({"image_id": result["image_id"], "caption": answer, "id": number})
        dataset["images"].append({"id": result["image_id"]})
    coco = COCO()
    coco.dataset = dataset
    coco.createIndex()
    found = coco.loadRes([{"image_id": result["image_id"], "caption": result["pred"]} for result in results])
    coco_eval = COCOEvalCap(coco, found)
    images = coco_eval.params["image_id"]
    tokenizer = PTBTokenizer()
    gts = tokenizer.tokenize({image: coco_eval.coco.imgToAnns[image] for image in images})
    res = tokenizer.tokenize({image: coco_eval.cocoRes.imgToAnns[image] for image in images})
    score, _ = scorers[metric].compute_score(gts, res)
    if type(score) is list:
        score = score[int(metric.split("_")[-1]) - 1]
    return score


def scores(references, results):
    rows = [{"image_id": i, "answer": references[i], "pred": results[i]} for i in results]
    return {metric: aggregate(rows, metric) for metric in METRICS}
