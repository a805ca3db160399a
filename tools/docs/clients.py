"""Writes docs/clients.md: programs written for other tools, run with capeval, and how far their numbers agree.

    python tools/docs/clients.py               # needs the folder of official outputs ($CAPEVAL_DATA) and pycocoevalcap
    python -m capeval.compat run tools/docs/clients.py NAME       # one client, scores as JSON

The clients are in tests/clients. Their numbers on 1,000 images of COCO are compared with what pycocoevalcap 1.2 gave
with Java, or, where it needs none, with what the same client gives over pycocoevalcap itself (`--original`).
"""

from __future__ import annotations

import gzip
import json
import math
import os
import runpy
import subprocess
import sys
import time
from collections import defaultdict
from contextlib import redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "clients.md"
GOLDEN = Path(os.environ.get("CAPEVAL_DATA") or ROOT.parent / "shared") / "golden"
# The code bases whose calls a client makes; whether its own imports change; what its numbers are compared with.
CLIENTS = {
    "coco_example": ("pycocoevalcap (`eval.py`, its example)", False, "official"),
    "blip": ("BLIP, LAVIS (`coco_caption_eval`)", False, "official"),
    "lmms_eval": ("lmms-eval (coco_cap, flickr30k, nocaps, textcaps, youcook2)", False, "official"),
    "clipscore": ("clipscore (`generation_eval_utils`)", False, "official"),
    "vlmevalkit": ("VLMEvalKit (COCO scorer; captions untokenised)", False, "original"),
    "self_critical": ("ImageCaptioning.pytorch (`rewards`)", False, "original"),
    "meshed_memory": ("meshed-memory-transformer (`evaluation`, reward)", True, "original"),
    "nlg_eval": ("nlg-eval", True, "original"),
}
TEXT = """# Programs written for other tools, with capeval

Small programs that call captioning scorers as these code bases do ([tests/clients](../tests/clients)), run on 1,000
images of COCO with five references each. *Official*: pycocoevalcap 1.2 with Java. *Original*: the same program over the
scorers of pycocoevalcap 1.2 that are Python: BLEU, ROUGE-L, CIDEr-D; METEOR, which is Java, is compared where there is
an official number. The last column tells how many digits behind the point are equal in all of a client's numbers. Made
by `python tools/docs/clients.py`. The code bases themselves were run as well: [code-bases.md](code-bases.md).

{table}
{spice}

**As a reward** (`CiderD(df="coco-val2014")`, five references a caption): {speed} captions a second of CPU
time, in batches of 50 and of 300 (`python tools/docs/clients.py --speed`).

SPICE is another implementation of the same rules and the same grammar ([measured](measured/spice.md)), which is why it
stands apart; the other metrics differ, if at all, in the last bits of a floating-point number.
"""


def data() -> tuple[dict[int, list[str]], dict[int, str]]:
    rows = json.loads(gzip.decompress((GOLDEN / "coco_1k.json.gz").read_bytes()))
    references = {row["image_id"]: row["references"] for row in rows}
    return references, {row["image_id"]: row["candidate"] for row in rows}


def run_client(name: str) -> dict[str, float]:
    """The numbers of a client, with whatever modules are in place; what it prints goes elsewhere."""
    with redirect_stdout(sys.stderr):
        found = runpy.run_path(str(ROOT / "tests" / "clients" / f"{name}.py"))["scores"](*data())
    return {key.removeprefix("val_"): float(value) for key, value in found.items()}


def put_originals() -> None:
    """pycocoevalcap's own classes in the places that clients import from; METEOR needs Java, and gives nothing."""
    from pycocoevalcap.bleu.bleu import Bleu
    from pycocoevalcap.cider.cider import Cider
    from pycocoevalcap.cider.cider_scorer import CiderScorer
    from pycocoevalcap.rouge.rouge import Rouge

    from capeval import compat

    class GivenFrequencies(CiderScorer):  # type: ignore[misc]
        """Frequencies and the number of documents are given, as in pyciderevalcap and meshed-memory-transformer."""

        images = 1
        ref_len = property(lambda self: np.log(float(self.images)), lambda self, value: None)

    class AnyCider(Cider):  # type: ignore[misc]
        def __init__(self, gts: Any = None, df: str = "corpus") -> None:
            super().__init__()
            self.counts: dict[Any, float] | None = None
            if gts:
                known = CiderScorer()
                for captions in gts.values():
                    known += ("", captions)
                known.compute_doc_freq()
                self.counts, self.images = known.document_frequency, len(gts)

        def compute_score(self, gts: Any, res: Any) -> tuple[float, Any]:
            if isinstance(res, list):
                gts = {i: gts[row["image_id"]] for i, row in enumerate(res)}
                res = {i: row["caption"] for i, row in enumerate(res)}
            if self.counts is None:
                score, each = super().compute_score(gts, res)
                return score, each
            scorer = GivenFrequencies()
            scorer.images, scorer.document_frequency = self.images, defaultdict(float, self.counts)
            for key in gts:
                scorer += (res[key][0], gts[key])
            each = np.array(scorer.compute_cider())
            return float(np.mean(each)), each

        def __str__(self) -> str:
            return "CIDEr"

    class NamedBleu(Bleu):  # type: ignore[misc]
        def __str__(self) -> str:
            return "BLEU"

    class NamedRouge(Rouge):  # type: ignore[misc]
        def __str__(self) -> str:
            return "ROUGE"

    class NoMeteor(compat.Meteor):
        def compute_score(self, gts: Any, res: Any, verbose: int = 0) -> tuple[float, list[float]]:
            return math.nan, []

    ours: Any = compat
    ours.Bleu, ours.Rouge, ours.Cider, ours.Meteor = NamedBleu, NamedRouge, AnyCider, NoMeteor
    module: Any = ModuleType("pyciderevalcap.ciderD.ciderD")
    module.CiderD = AnyCider
    for name in ("pyciderevalcap", "pyciderevalcap.ciderD"):
        sys.modules[name] = ModuleType(name)
    sys.modules[module.__name__] = module


def official() -> dict[str, float]:
    found = json.loads(gzip.decompress((GOLDEN / "pycocoevalcap_1k.json.gz").read_bytes()))["corpus"]
    with gzip.open(GOLDEN / "spice" / "scores_coco_1k.jsonl.gz", "rt", encoding="utf-8") as stream:
        return dict(found) | {"SPICE": float(np.mean([json.loads(line)["All"]["f"] for line in stream]))}


def scores_of(command: list[str]) -> Any:
    print(" ".join(command), file=sys.stderr)
    done = subprocess.run([sys.executable, *command], cwd=ROOT, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def reward_speed() -> list[float]:
    """Captions a second of CPU time, in batches of 50 and of 300; other work on the machine does not count."""
    from capeval.compat import CiderD, PTBTokenizer

    references, results = data()
    gts = PTBTokenizer.tokenize(references)
    res = PTBTokenizer.tokenize({image: [text] for image, text in results.items()})
    reward, rows = CiderD(df="coco-val2014"), [{"image_id": image, "caption": text} for image, text in res.items()]
    reward.compute_score(gts, rows)
    speeds = []
    for size in (50, 300):
        begin = time.process_time()
        for first in range(0, 900, size):
            reward.compute_score(gts, rows[first : first + size])
        speeds.append(900 / (time.process_time() - begin))
    return speeds


def main() -> None:
    lines = ["| Calls as in | Client | Its imports | Compared with | Scores | Largest difference | Digits |"]
    lines.append("|---|---|---|---|---|---|---|")
    spice: list[float] = []
    for name, (code_base, changes, compared) in CLIENTS.items():
        ours = scores_of(["-m", "capeval.compat", "run", "tools/docs/clients.py", name])
        theirs = official() if compared == "official" else scores_of(["tools/docs/clients.py", "--original", name])
        if "SPICE" in ours:
            spice = [ours["SPICE"], theirs["SPICE"]]
        same = [key for key in ours if key != "SPICE" and not math.isnan(theirs.get(key, math.nan))]
        worst = max(abs(ours[key] - theirs[key]) for key in same)
        digits = 15 if worst < 1e-15 else math.floor(-math.log10(worst))
        imports = "`capeval.compat`" if changes else "as they are"
        shown = ", ".join(same)
        lines.append(f"| {code_base} | `{name}` | {imports} | {compared} | {shown} | {worst:.1e} | {digits} |")
    apart = f"SPICE, in the clients that ask for it: {spice[0]:.6f}, official {spice[1]:.6f}.\n" if spice else ""
    command = "\nEach was run as `python -m capeval.compat run tools/docs/clients.py CLIENT`.\n"
    speed = " and ".join(f"{round(each, -2):,.0f}" for each in scores_of(["tools/docs/clients.py", "--speed"]))
    PAGE.write_text(
        TEXT.format(table="\n".join(lines) + "\n" + command, spice=apart.strip(), speed=speed), encoding="utf-8"
    )
    print(PAGE)


if __name__ == "__main__":
    if len(sys.argv) == 1:
        main()
    elif sys.argv[1] == "--speed":
        print(json.dumps(reward_speed()))
    else:
        if sys.argv[1] == "--original":
            put_originals()
        print(json.dumps(run_client(sys.argv[-1])))
