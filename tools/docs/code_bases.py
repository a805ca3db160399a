"""Writes docs/code-bases.md: other people's evaluation code, as it is in their repositories, run with capeval.

    python tools/docs/code_bases.py CHECKOUTS            # the folder that has the clones, each by its repository's name
    python -m capeval.compat run tools/docs/code_bases.py NAME CHECKOUTS      # one of them, scores as JSON

Nothing of theirs is changed or copied: a module is loaded from the file in the clone. Packages that it is in are not
set up by their own `__init__` (`bare`), which would ask for all that the project needs to train. Numbers are compared
with what pycocoevalcap 1.2 gave with Java (`official`; needs $CAPEVAL_DATA), or with what the same file gives over the
code that it was written for (`original`), where that is Python; for the rewards that is a clone of ruotianluo/cider.
Needs what the files import: torch, torchvision, pandas, pycocotools, loguru, tqdm, six, psutil, sty, validators,
huggingface_hub, timm 0.4.12, iopath, decord, webdataset, opencv-python-headless.
"""

from __future__ import annotations

import gzip
import importlib.util
import json
import math
import os
import pickle
import runpy
import subprocess
import sys
import tempfile
from argparse import Namespace
from collections import defaultdict
from contextlib import redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "code-bases.md"
GOLDEN = Path(os.environ.get("CAPEVAL_DATA") or ROOT.parent / "shared") / "golden"
Scores = dict[str, float]
OVERLAP = ["Bleu_1", "Bleu_2", "Bleu_3", "Bleu_4", "METEOR", "ROUGE_L", "CIDEr"]


def data() -> tuple[dict[int, list[str]], dict[int, str]]:
    rows = json.loads(gzip.decompress((GOLDEN / "coco_1k.json.gz").read_bytes()))
    return {row["image_id"]: row["references"] for row in rows}, {row["image_id"]: row["candidate"] for row in rows}


def bare(checkout: Path, *packages: str) -> None:
    """Packages of a clone of which only the modules asked for are run."""
    for name in packages:
        module = ModuleType(name)
        module.__path__ = [str(checkout.joinpath(*name.split(".")))]
        sys.modules[name] = module
    sys.path.insert(0, str(checkout))


def torchvision() -> None:
    """Only its download of a file, which is there already, is asked for; its kernels may not fit the torch here."""
    try:
        importlib.import_module("torchvision")
    except RuntimeError:
        found = importlib.util.find_spec("torchvision")
        assert found is not None
        assert found.origin is not None
        for name in [name for name in sys.modules if name.split(".")[0] == "torchvision"]:
            del sys.modules[name]
        # timm, of which LAVIS asks the same, would ask for all of it.
        bare(Path(found.origin).parents[1], "torchvision", "torchvision.datasets", "timm", "timm.models")
        sys.modules["timm"].__dict__["__version__"] = "?"


def coco_files() -> tuple[str, str]:
    """The captions as COCO's annotations and as results, in the working folder."""
    references, results = data()
    rows = [(image, text) for image, texts in references.items() for text in texts]
    annotations = [{"id": i, "image_id": image, "caption": text} for i, (image, text) in enumerate(rows)]
    content = {"images": [{"id": image} for image in references], "annotations": annotations}
    content |= {"info": {}, "licenses": [], "type": "captions"}
    for name in ("captions_val2014.json", "coco_karpathy_val_gt.json"):
        Path(name).write_text(json.dumps(content))
    found = [{"image_id": image, "caption": text} for image, text in results.items()]
    Path("captions_val2014_fakecap_results.json").write_text(json.dumps(found))
    return "captions_val2014.json", "captions_val2014_fakecap_results.json"


def pycocoevalcap(checkout: Path) -> Scores:
    coco_files()
    program = checkout / "example" / "coco_eval_example.py"
    return dict(runpy.run_path(str(program), run_name="__main__")["coco_eval"].eval)


def blip(checkout: Path) -> Scores:
    _, results = coco_files()
    torchvision()
    bare(checkout, "data")
    module = importlib.import_module("data.utils")
    return dict(module.coco_caption_eval(".", results, "val").eval)


def lavis(checkout: Path) -> Scores:
    annotations, results = coco_files()
    torchvision()
    bare(checkout, "lavis", "lavis.common", "lavis.tasks", "lavis.datasets", "lavis.datasets.datasets")
    module = importlib.import_module("lavis.tasks.captioning")
    return dict(module.coco_caption_eval(".", results, "val", annotation_file=annotations).eval)


def clipscore(checkout: Path) -> Scores:
    bare(checkout)
    references, results = data()
    found = importlib.import_module("generation_eval_utils").get_all_metrics(
        [references[image] for image in results], list(results.values())
    )
    named = {"METEOR": found["meteor"], "ROUGE_L": found["rouge"], "CIDEr": found["cider"], "SPICE": found["spice"]}
    return dict(zip(OVERLAP, found["bleu"])) | named


def lmms_eval(checkout: Path) -> Scores:
    """Five tasks, each in its own way from a document and an answer to a score."""
    os.environ.setdefault("HF_HOME", os.getcwd())
    bare(checkout, "lmms_eval", "lmms_eval.tasks")
    references, results = data()
    tasks = {
        "coco_cap": ("coco", lambda i: {"question_id": f"COCO_val2014_{i:012d}.jpg", "id": i, "answer": references[i]}),
        "flickr30k": ("flickr", lambda i: {"img_id": str(i), "caption": references[i]}),
        "nocaps": ("nocaps", lambda i: {"image_id": i, "annotations_captions": references[i]}),
        "textcaps": ("textcaps", lambda i: {"image_id": i, "caption_str": references[i]}),
    }
    found: Scores = {}
    for task, (name, document) in tasks.items():
        module = importlib.import_module(f"lmms_eval.tasks.{task}.utils")
        process = getattr(module, f"{name}_process_result")
        aggregate = getattr(module, f"{name}_aggregation_result")
        rows = [process(document(image), [text])[f"{name}_CIDEr"] for image, text in results.items()]
        for metric in OVERLAP:
            found[f"{task}.{metric}"] = float(aggregate(rows, metric, Namespace(output_path=".")))
    return found


def youcook2(checkout: Path) -> Scores:
    """lmms-eval's task of several captions a video: one reference each, CIDEr over the captions of a video."""
    os.environ.setdefault("HF_HOME", os.getcwd())
    bare(checkout, "lmms_eval", "lmms_eval.tasks")
    references, results = data()
    module = importlib.import_module("lmms_eval.tasks.youcook2.utils")
    rows = [
        module.youcook2_process_results({"youtube_id": i // 5, "segment": i, "sentence": references[image][0]}, [text])
        for i, (image, text) in enumerate(list(results.items())[:200])
    ]
    metrics = ["Bleu_1", "Bleu_4", "ROUGE_L", "CIDEr"]
    return {name: float(module.youcook2_aggregate_results([row[name] for row in rows], name)) for name in metrics}


def vlmevalkit(checkout: Path) -> Scores:
    bare(checkout, "vlmeval", "vlmeval.dataset")
    references, results = data()
    table = importlib.import_module("pandas").DataFrame(
        {"prediction": list(results.values()), "answer": [str(references[image]) for image in results]}
    )
    table.to_csv("model_COCO_VAL.tsv", sep="\t")
    module = importlib.import_module("vlmeval.dataset.image_caption")
    found = module.ImageCaptionDataset.evaluate("model_COCO_VAL.tsv")
    return dict(zip(OVERLAP, found.pop("Bleu"))) | {name: float(score) for name, score in found.items()}


def rewards(checkout: Path) -> Scores:
    """Self-critical rewards: captions as numbers, tables of document frequencies out of a pickled file."""
    import torch

    bare(checkout, "captioning", "captioning.utils")
    references, results = data()
    number: dict[str, int] = {}

    def row(text: str) -> list[int]:
        words = [number.setdefault(word, len(number) + 1) for word in text.lower().split()][:18]
        return words + [0] * (20 - len(words))

    some = list(results)[:100]
    known = [np.array([row(text) for text in references[image]]) for image in some]
    greedy = torch.tensor([row(results[image]) for image in some])
    sampled = torch.tensor([row(references[image][i]) for image in some for i in (0, 1)])
    counts: dict[tuple[str, ...], float] = defaultdict(float)
    for texts in references.values():
        grams = set()
        for text in texts:
            words = [str(each) for each in row(text)]
            words = words[: words.index("0") + 1]
            grams |= {tuple(words[i : i + n]) for n in range(1, 5) for i in range(len(words) - n + 1)}
        for gram in grams:
            counts[gram] += 1.0
    Path("data").mkdir(exist_ok=True)
    table = {"document_frequency": counts, "ref_len": float(len(references))}
    Path("data/coco-train-idxs.p").write_bytes(pickle.dumps(table, 2))
    module = importlib.import_module("captioning.utils.rewards")
    module.init_scorer("coco-train-idxs")
    options = Namespace(cider_reward_weight=1.0, bleu_reward_weight=0.5)
    found = module.get_self_critical_reward(greedy, known, sampled, options)
    alone = module.get_scores(known, sampled, options)
    return {"mean": float(found.mean()), "first": float(found[0, 0]), "last": float(found[-1, 0])} | {
        f"row {i}": float(alone[i]) for i in range(0, 200, 20)
    }


def nlg_eval(checkout: Path) -> Scores:
    """Files of lines, as its command line takes them. It has a copy of pycocoevalcap inside."""
    references, results = data()
    Path("hyp.txt").write_text("\n".join(results.values()))
    names = [f"ref{i}.txt" for i in range(5)]
    for i, name in enumerate(names):
        Path(name).write_text("\n".join(references[image][i] for image in results))
    sys.path.insert(0, str(checkout))
    module: Any = importlib.import_module("nlgeval")
    return dict(module.compute_metrics("hyp.txt", names, no_skipthoughts=True, no_glove=True))


def meshed_memory(checkout: Path) -> Scores:
    """Its own package `evaluation`; only that one's four import lines are others, for ours."""
    references, results = data()
    sys.path.insert(0, str(checkout))
    evaluation: Any = importlib.import_module("evaluation")
    gts = evaluation.PTBTokenizer.tokenize({str(image): references[image] for image in results})
    res = evaluation.PTBTokenizer.tokenize({str(image): [text] for image, text in results.items()})
    found, _ = evaluation.compute_scores(gts, res)
    train = evaluation.PTBTokenizer.tokenize([text for texts in references.values() for text in texts])
    reward = evaluation.Cider(train).compute_score(gts, res)[1]
    return dict(zip(OVERLAP, found.pop("BLEU"))) | {
        "METEOR": found["METEOR"], "ROUGE_L": found["ROUGE"], "CIDEr": found["CIDEr"],
        "reward": float(np.mean(reward)),
    }  # fmt: skip


# Name -> repository, what of it is run, what its numbers are compared with.
CODE_BASES: dict[str, tuple[str, str, str]] = {
    "pycocoevalcap": ("salaniz/pycocoevalcap", "`example/coco_eval_example.py`", "official"),
    "blip": ("salesforce/BLIP", "`data/utils.py`: `coco_caption_eval`", "official"),
    "lavis": ("salesforce/LAVIS", "`lavis/tasks/captioning.py`: `coco_caption_eval`", "official"),
    "clipscore": ("jmhessel/clipscore", "`generation_eval_utils.py`: `get_all_metrics`", "official"),
    "lmms_eval": ("EvolvingLMMs-Lab/lmms-eval", "`tasks/{coco_cap,flickr30k,nocaps,textcaps}/utils.py`", "official"),
    "youcook2": ("EvolvingLMMs-Lab/lmms-eval", "`tasks/youcook2/utils.py`", "original"),
    "vlmevalkit": ("open-compass/VLMEvalKit", "`vlmeval/dataset/image_caption.py`: `evaluate`", "original"),
    "rewards": ("ruotianluo/ImageCaptioning.pytorch", "`captioning/utils/rewards.py`", "original"),
    "nlg_eval": ("Maluuba/nlg-eval", "`nlgeval.compute_metrics`", "original"),
    "meshed_memory": ("aimagelab/meshed-memory-transformer", "`evaluation`", "original"),
}
TEXT = """# Code bases themselves, with capeval

Evaluation code of other projects, loaded unchanged from clones of their repositories and run over capeval by
`python -m capeval.compat run`, on 1,000 images of COCO with five references each (youcook2: 200 captions of 40 videos;
rewards: 100 images, two samples each). *Official*: compared with what pycocoevalcap 1.2 gives with Java. *Original*:
compared with what the same file gives over the code that it was written for, in Python; what is Java is left out
there, but for tokens, which are ours ([equal](tokenizer.md)). Digits: how many behind the point are equal in all
numbers. Made by `python tools/docs/code_bases.py CHECKOUTS`.

{table}

SPICE, where a code base asks for it: {spice}. It is another implementation of the same rules and the same
grammar ([measured](measured/spice.md)), which is why it stands apart.

Packages are not set up by their own `__init__`, which would ask for all that a project needs to train; no model is run,
the captions are those above. The rewards' original is ruotianluo/cider. nlg-eval has a copy of pycocoevalcap inside,
in whose place ours is put (`capeval.compat.install("nlgeval.pycocoevalcap")`). meshed-memory-transformer has scorers
of its own, so the import lines of its `evaluation/__init__.py` become `from capeval.compat import Bleu, Cider, Meteor,
PTBTokenizer, Rouge`.
"""


def run(name: str, checkouts: Path, is_original: bool) -> Scores:
    """The numbers of one code base, with whatever modules are in place; what it prints goes elsewhere."""
    checkout = checkouts / CODE_BASES[name][0].split("/")[1]
    if is_original:
        put_originals(name, checkouts)
    elif name == "nlg_eval":
        from capeval.compat import install

        install("nlgeval.pycocoevalcap")
    elif name == "meshed_memory":
        sys.modules["evaluation"] = changed_imports(checkout / "evaluation" / "__init__.py")
    with tempfile.TemporaryDirectory() as folder, redirect_stdout(sys.stderr):
        here = os.getcwd()
        os.chdir(folder)
        try:
            return {key: float(value) for key, value in globals()[name](checkout.resolve()).items()}
        finally:
            os.chdir(here)


def changed_imports(path: Path) -> ModuleType:
    """A module whose import lines, and nothing else, are others."""
    lines = [line for line in path.read_text("utf-8").splitlines() if not line.startswith("from .")]
    module = ModuleType("evaluation")
    source = "\n".join(["from capeval.compat import Bleu, Cider, Meteor, PTBTokenizer, Rouge", *lines])
    exec(compile(source, str(path), "exec"), module.__dict__)
    return module


def put_originals(name: str, checkouts: Path) -> None:
    """What a code base was written for; of that, what is Java gives nothing."""
    if name == "rewards":
        sys.path.insert(0, str(checkouts / "cider"))
    if name == "nlg_eval":
        bare(checkouts / "nlg-eval", "nlgeval.pycocoevalcap.meteor", "nlgeval.pycocoevalcap.spice")
        no_java("nlgeval.pycocoevalcap.meteor.meteor", "Meteor")
        no_java("nlgeval.pycocoevalcap.spice.spice", "Spice")
    if name == "meshed_memory":
        no_java("evaluation.meteor", "Meteor")
        ours("evaluation.tokenizer", "PTBTokenizer")
    if name == "youcook2":
        no_java("pycocoevalcap.meteor.meteor", "Meteor")
        ours("pycocoevalcap.tokenizer.ptbtokenizer", "PTBTokenizer")


def no_java(module: str, name: str) -> None:
    class Nothing:
        def compute_score(self, gts: Any, res: Any) -> tuple[float, list[float]]:
            return math.nan, []

        def close(self) -> None: ...

        def __str__(self) -> str:
            return name.upper()

    made: Any = ModuleType(module)
    setattr(made, name, Nothing)
    sys.modules[module] = made


def ours(module: str, name: str) -> None:
    """Our tokenizer in the place of one in Java, which gives the same tokens (docs/tokenizer.md)."""
    from capeval import compat

    made: Any = ModuleType(module)
    setattr(made, name, getattr(compat, name))
    sys.modules[module] = made


def official() -> Scores:
    found = json.loads(gzip.decompress((GOLDEN / "pycocoevalcap_1k.json.gz").read_bytes()))["corpus"]
    with gzip.open(GOLDEN / "spice" / "scores_coco_1k.jsonl.gz", "rt", encoding="utf-8") as stream:
        return dict(found) | {"SPICE": float(np.mean([json.loads(line)["All"]["f"] for line in stream]))}


def scores_of(command: list[str]) -> Any:
    print(" ".join(command), file=sys.stderr)
    done = subprocess.run([sys.executable, *command], stdout=subprocess.PIPE, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else None


def version(checkout: Path) -> str:
    done = subprocess.run(
        ["git", "-C", str(checkout), "log", "-1", "--format=%h, %as"], capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or "?"


def main(checkouts: Path) -> None:
    lines = [
        "| Repository | What was run | Compared with | Scores | Largest difference | Digits |",
        "|---|---|---|---|---|---|",
    ]
    spice: set[str] = set()
    script = str(Path(__file__).resolve())
    for name, (repository, what, compared) in CODE_BASES.items():
        found = scores_of(["-m", "capeval.compat", "run", script, name, str(checkouts)])
        theirs = official() if compared == "official" else scores_of([script, "--original", name, str(checkouts)])
        place = f"[{repository}](https://github.com/{repository}) ({version(checkouts / repository.split('/')[1])})"
        if found is None or theirs is None:
            lines.append(f"| {place} | {what} | {compared} | could not be run here | | |")
            continue
        pairs = {key: (found[key], theirs.get(key.rpartition(".")[2], math.nan)) for key in found}
        if "SPICE" in pairs and compared == "official":
            spice.add(f"{pairs['SPICE'][0]:.6f}, official {pairs['SPICE'][1]:.6f}")
        same = {key: pair for key, pair in pairs.items() if key != "SPICE" and not math.isnan(pair[1])}
        worst = max(abs(a - b) for a, b in same.values())
        digits = 15 if worst < 1e-15 else math.floor(-math.log10(worst))
        shown = ", ".join(same) if len(same) < 9 else f"{len(same)} numbers"
        lines.append(f"| {place} | {what} | {compared} | {shown} | {worst:.1e} | {digits} |")
    PAGE.write_text(TEXT.format(table="\n".join(lines), spice="; ".join(sorted(spice))), encoding="utf-8")
    print(PAGE)


if __name__ == "__main__":
    if len(sys.argv) == 2:
        main(Path(sys.argv[1]).resolve())
    else:
        print(json.dumps(run(sys.argv[-2], Path(sys.argv[-1]), sys.argv[1] == "--original")))
