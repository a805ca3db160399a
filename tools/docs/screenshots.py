"""The pictures of docs/tasks: a terminal of 80 columns, a notebook, a report on a desktop, on a phone and in the dark.

    python tools/docs/screenshots.py

Needs Debian's chromium, and playwright, nbclient, nbconvert, ipykernel and Pillow beside `report` and `learned`.
"""

from __future__ import annotations

import html
import io
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbconvert import HTMLExporter
from PIL import Image
from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
FIGURES = ROOT / "docs" / "figures"
DEMO = ROOT / "src" / "capeval" / "data" / "demo"
COLUMNS = 80
COMMANDS = [
    "capeval score system_a.json -r references.json -m bleu_4,rouge_l,cider_d,wmd --intervals",
    "capeval compare system_a.json system_b.json -r references.json -m 'bleu_4,cider_d(df=coco-val2014),wmd'",
    'capeval explain rouge_l "a man rides a bike" -r "the man is on a bike"',
]
REPORT = (
    "capeval score pictures_captions.json -r pictures_references.json --images pictures "
    "-m bleu_1,cider_d,lece,spice_fast --intervals --report"
)
CELLS = [
    """import capeval
result = capeval.score(
    {"1": "a brown dog runs on the beach", "2": "two people sit at a table"},
    {"1": ["a dog is running on sand", "a brown hound at the sea"], "2": ["a couple sits at a wooden table"]},
    ["bleu_1", "rouge_l", "cider_d"],
)
result""",
    'capeval.explain("wmd", "a brown dog runs on the beach", ["a dog is running on sand"])',
]
TERMINAL = """<!DOCTYPE html><meta charset="utf-8"><style>body { margin: 0; background: #12161b; width: fit-content; }
pre { margin: 0; padding: 14px 16px; color: #dfe5eb; font: 13px/1.35 "DejaVu Sans Mono", monospace; }
b { color: #7db8ee; font-weight: normal; }</style><pre>"""


def run(command: str) -> str:
    """What a command prints in a terminal of 80 columns."""
    words = [str(Path(sys.executable).with_name("capeval")), *shlex.split(command)[1:]]
    done = subprocess.run(
        words, cwd=DEMO, env={**os.environ, "COLUMNS": str(COLUMNS)}, capture_output=True, text=True, check=True
    )
    return done.stdout


def terminal() -> str:
    parts = [f"<b>$ {html.escape(command)}</b>\n{html.escape(run(command).rstrip())}" for command in COMMANDS]
    return TERMINAL + "\n\n".join(parts) + "</pre>"


def notebook() -> str:
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    NotebookClient(book, timeout=300).execute()
    page: str = HTMLExporter().from_notebook_node(book)[0]
    return page


def shoot(browser: Browser, page: Path, name: str, width: int, height: int = 0, scheme: str = "light") -> None:
    """Without a height: the whole page."""
    tab = browser.new_page(viewport={"width": width, "height": height or 400}, color_scheme=scheme)
    tab.goto(page.as_uri(), wait_until="load")
    picture = Image.open(io.BytesIO(tab.screenshot(full_page=not height)))
    tab.close()
    picture.convert("RGB").quantize(128).save(FIGURES / name, optimize=True)
    print(name, picture.size, (FIGURES / name).stat().st_size)


def main() -> None:
    with tempfile.TemporaryDirectory() as place, sync_playwright() as driver:
        folder = Path(place)
        (folder / "terminal.html").write_text(terminal())
        (folder / "notebook.html").write_text(notebook())
        run(f"{REPORT} {folder / 'report.html'}")
        browser = driver.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-gpu"])
        shoot(browser, folder / "terminal.html", "terminal.png", 680)
        shoot(browser, folder / "notebook.html", "notebook.png", 900)
        shoot(browser, folder / "report.html", "report.png", 1280, 1250)
        shoot(browser, folder / "report.html", "report-phone.png", 400, 1500)
        shoot(browser, folder / "report.html", "report-dark.png", 400, 1500, "dark")
        browser.close()


if __name__ == "__main__":
    main()
