"""The explorer in a real browser (chromium): when the first rows are there, and whether scrolling ever stands still.

    python benchmarks/explorer.py [--captions 5000] [--rows 200000] [--out FILE]

A server of its own is asked as a user would: files are chosen, a button is clicked, the table is scrolled. Frames are
timed by the page itself while it scrolls; what a jump takes is told from the jump to the rows of that place.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright
from serve import Captions, Served

OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-dev-shm-usage"]
METRICS = ["bleu", "rouge_l", "meteor", "cider_d", "spice_fast", "wmd"]
ROWS = ".captions tbody tr:not(.space)"
# Three screens a frame for so many milliseconds; gives how long each frame took.
SCROLL = """(wanted) => new Promise((done) => {
  const frame = document.querySelector('.captions'), times = [];
  const begin = performance.now();
  let last = begin;
  const step = (now) => {
    times.push(now - last);
    last = now;
    frame.scrollTop += 3 * frame.clientHeight;
    if (frame.scrollTop + frame.clientHeight >= frame.scrollHeight - 1) frame.scrollTop = 0;
    if (now - begin < wanted) requestAnimationFrame(step); else done(times.slice(1));
  };
  requestAnimationFrame(step);
})"""
# To a place in the table; gives the milliseconds until its row is seen.
JUMP = """(row) => new Promise((done) => {
  const frame = document.querySelector('.captions'), begin = performance.now();
  frame.scrollTop = 44 * row;
  const look = () => {
    const box = frame.getBoundingClientRect(), seen = document.elementFromPoint(box.left + 60, box.top + 200);
    if (seen && seen.closest('tbody tr:not(.space)')) done(performance.now() - begin);
    else setTimeout(look, 5);
  };
  look();
})"""


def first_rows(page: Page, button: str) -> float:
    """Seconds from a click to rows in sight."""
    begin = time.perf_counter()
    page.get_by_role("button", name=button, exact=True).click()
    page.wait_for_url("**/r/*", wait_until="commit")
    page.locator(ROWS).first.wait_for()
    return time.perf_counter() - begin


def scrolled(page: Page, rows: int) -> str:
    page.locator(".captions").scroll_into_view_if_needed()
    times = sorted(page.evaluate(SCROLL, 5000))
    jumps = sorted(page.evaluate(JUMP, int(rows * share)) for share in (0.5, 0.1, 0.9, 0.3, 0.7, 0.2, 0.8, 0.4, 0.6))
    most, longest = times[int(0.95 * len(times))], times[-1]
    return (
        f"{len(times)} frames in 5 s, 95 % below {most:.0f} ms, the longest {longest:.0f} ms; rows after a jump: "
        f"median {jumps[len(jumps) // 2]:.0f} ms, at most {jumps[-1]:.0f} ms"
    )


def scored(page: Page, url: str, folder: Path, count: int) -> list[tuple[str, str]]:
    made = Captions()
    rows = [{"image_id": str(i), "caption": next(made)} for i in range(count)]
    (folder / "candidates.json").write_text(json.dumps(rows))
    (folder / "references.json").write_text(json.dumps({str(i): [next(made) for _ in range(5)] for i in range(count)}))
    page.goto(url)
    page.set_input_files("#candidates", str(folder / "candidates.json"))
    page.set_input_files("#references", str(folder / "references.json"))
    page.fill("#metrics", ",".join(METRICS))
    begin, seconds = time.perf_counter(), first_rows(page, "Score")
    found = [(f"{count:,} captions with five references each: first rows", f"{seconds:.2f} s after the click")]
    found.append((f"scrolling {count:,} captions while they are scored", scrolled(page, count)))
    page.get_by_role("link", name="Report").wait_for(timeout=600_000)
    found.append(
        (f"{len(METRICS)} metrics of {count:,} captions, with all that", f"{time.perf_counter() - begin:.0f} s")
    )
    found.append((f"scrolling {count:,} captions with {len(METRICS)} metrics", scrolled(page, count)))
    return found


def opened(page: Page, url: str, folder: Path, count: int) -> list[tuple[str, str]]:
    lines = (f"{i},{i},a man number {i} on a bike,{i * 7919 % 1000 / 1000},{i % 17 / 17:.4f}" for i in range(count))
    (folder / "scores.csv").write_text("id,image,candidate,one,other\n" + "\n".join(lines) + "\n")
    page.goto(url)
    page.set_input_files("#result", str(folder / "scores.csv"))
    found = [(f"{count:,} rows of a file: first rows", f"{first_rows(page, 'Open'):.2f} s after the click")]
    found.append((f"scrolling {count:,} rows", scrolled(page, count)))
    for what, query in (
        ("sorted by a score", "?sort=-one"),
        ("with words to be found", "?words=199"),
        ("where scores disagree", "?a=one&b=other"),
    ):
        begin = time.perf_counter()
        page.goto(page.url.split("?")[0] + query)
        page.locator(ROWS).first.wait_for()
        found.append((f"{count:,} rows {what}", f"{time.perf_counter() - begin:.2f} s"))
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--captions", type=int, default=5_000)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    load, server, said = os.getloadavg()[0], Served(), list[Any]()
    try:
        with sync_playwright() as driver, tempfile.TemporaryDirectory() as folder:
            browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=OPTIONS)
            page = browser.new_page(viewport={"width": 1200, "height": 900})
            page.set_default_timeout(120_000)
            page.on("console", lambda message: said.append(message.text))
            found = scored(page, server.url, Path(folder), given.captions)
            found += opened(page, server.url, Path(folder), given.rows)
            version = browser.version
            browser.close()
    finally:
        server.close()
    assert said == [], said
    lines = [
        "# The explorer in a browser", "",
        f"`python benchmarks/explorer.py --captions {given.captions} --rows {given.rows}`, chromium {version}, "
        f"load {load:.1f} at its begin on {os.cpu_count()} cores, which browser and server share.", "",
        "| What | Measured |", "|---|---|", *(f"| {what} | {told} |" for what, told in found), "",
    ]  # fmt: skip
    print("\n".join(lines))
    if given.out:
        given.out.write_text("\n".join(lines), "utf-8")


if __name__ == "__main__":
    main()
