"""How long `capeval bench run` takes on every benchmark with the classic metrics, whole commands.

    python benchmarks/meta.py [--data ROOT]

The official parses of SPICE should be in the cache: run it twice, the second time counts. On the distractors, whose
captions are new, SPICE is `spice_fast`; ABSTRACT-50S goes without, and COCO 2015 has no captions to score. Without the
data sets or the grammar of SPICE nothing is measured.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from common import machine, markdown, run, write

from capeval.bench import benchmarks
from capeval.bench.registry import data_root
from capeval.scene import default_parser

HERE = Path(__file__).resolve().parent

CLASSIC = ["bleu", "rouge_l", "meteor", "cider", "cider_d", "spice", "spider", "wmd"]
LESS = {
    "distractors": ["bleu", "rouge_l", "meteor", "cider_d", "wmd", "spice_fast"],
    "abstract-50s": ["bleu", "rouge_l", "meteor", "cider", "cider_d", "wmd"],
    "coco-2015": [],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    given = parser.parse_args().data
    root = data_root(given or os.environ.get("CAPEVAL_DATA") or HERE.parents[1] / "shared").resolve()
    if not root.is_dir() or default_parser() != "official":
        print(
            "meta.py: passed over, since the data sets (--data) or the grammar of SPICE are not here", file=sys.stderr
        )
        return
    line, rows = machine(), []
    capeval = [sys.executable, "-m", "capeval", "bench", "run"]
    with tempfile.TemporaryDirectory() as folder:
        for name in sorted(benchmarks()):
            metrics = LESS.get(name, CLASSIC)
            named = [part for metric in metrics for part in ("-m", metric)]
            done = run([*capeval, name, *named, "--data", str(root), "--format", "json"], Path(folder))
            rows.append([name, ", ".join(metrics), f"{done.seconds:.1f}", f"{done.peak_mb:.0f}"])
    rows.append(["all", "", f"{sum(float(row[2]) for row in rows):.1f}", ""])
    text = f"# Meta-evaluation\n\nMade by `python benchmarks/meta.py`. {line}.\n\n"
    write("meta.md", text + markdown(["benchmark", "metrics", "seconds", "peak MB"], rows))


if __name__ == "__main__":
    main()
