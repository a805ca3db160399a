"""The pictures of docs/tasks/serve.md: the explorer on its sample, as chromium shows it.

python tools/docs/serve_figures.py
"""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Page, sync_playwright

FIGURES = Path(__file__).resolve().parents[2] / "docs" / "figures"
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-dev-shm-usage"]


def seen(page: Page, **more: Any) -> Image.Image:
    return Image.open(io.BytesIO(page.screenshot(**more))).convert("RGB")


def section(page: Page, name: str) -> Image.Image:
    return Image.open(
        io.BytesIO(page.locator("section", has=page.get_by_role("heading", name=name, exact=True)).screenshot())
    )


def below(*parts: Image.Image, gap: int = 16) -> Image.Image:
    made = Image.new(
        "RGB", (max(part.width for part in parts), sum(part.height + gap for part in parts) - gap), "#f5f7fa"
    )
    top = 0
    for part in parts:
        made.paste(part, ((made.width - part.width) // 2, top))
        top += part.height + gap
    return made


def beside(*parts: Image.Image, gap: int = 16) -> Image.Image:
    made = Image.new("RGB", (sum(part.width + gap for part in parts) - gap, max(part.height for part in parts)))
    left = 0
    for part in parts:
        made.paste(part, (left, 0))
        left += part.width + gap
    return made


def save(picture: Image.Image, name: str, width: int = 900) -> None:
    small = picture.resize((width, picture.height * width // picture.width), Image.Resampling.LANCZOS)
    small.quantize(128).save(FIGURES / f"{name}.png", optimize=True)


def main() -> None:
    server = subprocess.Popen(
        [sys.executable, "-m", "capeval", "serve", "--port", "0"], stderr=subprocess.PIPE, text=True
    )
    assert server.stderr is not None
    url = server.stderr.readline().split()[3].rstrip("/")
    try:
        with sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=OPTIONS)
            page = browser.new_page(viewport={"width": 1200, "height": 760})
            page.set_default_timeout(300_000)
            page.goto(f"{url}/r/sample?sort=-unified")
            page.get_by_role("link", name="Report").wait_for()
            save(seen(page), "serve-table")
            page.goto(f"{url}/r/sample/captions/0")
            page.locator("[data-caption][aria-busy=false]").wait_for()
            top = seen(page, full_page=True, clip={"x": 0, "y": 0, "width": 1200, "height": 760})
            parts = [section(page, name) for name in ("meteor", "spice_fast", "tiger")]
            cut = [part.convert("RGB").crop((0, 0, part.width, min(part.height, 480))) for part in parts]
            save(below(top, *cut), "serve-caption")
            narrow = browser.new_page(viewport={"width": 400, "height": 1500}, color_scheme="dark")
            narrow.goto(f"{url}/r/sample/captions/0")
            narrow.locator("[data-caption][aria-busy=false]").wait_for(timeout=300_000)
            columns = [seen(narrow)]
            for name in ("meteor", "tiger"):
                narrow.get_by_role("heading", name=name, exact=True).evaluate(
                    "(each) => each.scrollIntoView({block: 'start', behavior: 'instant'})"
                )
                columns.append(seen(narrow))
            save(beside(*columns), "serve-narrow", 760)
            browser.close()
    finally:
        server.terminate()
        server.wait(30)


if __name__ == "__main__":
    main()
