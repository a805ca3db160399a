"""Measures anew all pages of docs that compare metrics with people, one after the other.

    python tools/docs/all.py --images ROOT [--data ROOT] [--work DIR] [PAGE ...]

Pages: benchmarks, judgements, paper_figures, leaderboard; without names, all. What a metric gave on a benchmark is kept
in DIR (else in the cache) and shared by the pages: an interrupted run goes on where it was, and after a metric has
changed or a new one came, only that metric is scored. Parses and features of pictures come from the cache.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

from page import DOCS

from capeval.registry import metric_classes

HERE = Path(__file__).resolve().parent
# Beside every metric in its usual form.
FORMS = ["cider_d(df=coco-val2014)", "lece(negatives=rc)", "lece(context=reference)"]


def command(page: str, data: list[str], images: list[str]) -> list[str]:
    """How a page is made; `data` and `images` are options."""
    if page == "leaderboard":
        chosen = [part for name in [*metric_classes(), *FORMS] for part in ("-m", name)]
        written = ["--markdown", "docs/leaderboard.md"]  # the page shows the command, which is not of one machine alone
        return [sys.executable, "-m", "capeval", "bench", "all", *chosen, *data, *images, *written]
    looking = images if page == "benchmarks" else []
    return [sys.executable, str(HERE / f"{page}.py"), *data, *looking]


def main() -> None:
    pages = ["benchmarks", "judgements", "paper_figures", "leaderboard"]
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("pages", nargs="*", metavar="PAGE", help=", ".join(pages))
    parser.add_argument("--images", help="folder of the pictures")
    parser.add_argument("--data", help="folder of the data sets")
    parser.add_argument("--work", help="folder of what was computed before")
    arguments = parser.parse_args()
    if unknown := set(arguments.pages) - set(pages):
        parser.error(f"there is no page {', '.join(sorted(unknown))}; pages: {', '.join(pages)}")
    # Pages are made from the project's folder, wherever this was called from.
    given = {
        name: os.path.relpath(path, DOCS.parent) for name, path in vars(arguments).items() if path and name != "pages"
    }
    shared = [part for name in ("data", "work") if name in given for part in (f"--{name}", given[name])]
    images = ["--images", given["images"]] if "images" in given else []
    for page in arguments.pages or pages:
        begin = time.perf_counter()
        if subprocess.run(command(page, shared, images), cwd=DOCS.parent).returncode:
            sys.exit(f"{page} failed; call again when it is mended: what was computed is kept")
        print(f"{page}: {time.perf_counter() - begin:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
