"""Tells mkdocs, beside mkdocs.yml, that README.md is the first page and where links that leave docs/ lead."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?\)")


def on_files(files: Files, config: Any) -> Files:
    first = ROOT / "README.md"
    files.append(File.generated(config, "index.md", content=moved(first.read_text("utf-8"), "", config["repo_url"])))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    if page.file.src_uri == "index.md":
        return markdown
    return moved(markdown, posixpath.join("docs", posixpath.dirname(page.file.src_uri)), config["repo_url"])


def moved(markdown: str, folder: str, repository: str) -> str:
    """A page of the repository's `folder`, with links that hold on the site."""

    def replace(found: re.Match[str]) -> str:
        opening, target, anchor = found[1], found[2], found[3] or ""
        if "://" in target:
            return found[0]
        place = posixpath.normpath(posixpath.join(folder, target))
        if not place.startswith("docs/"):
            kind = "tree" if (ROOT / place).is_dir() else "blob"
            return f"{opening}{repository}/{kind}/main/{place}{anchor})"
        # The first page has moved into docs/; all others have stayed where they were.
        return found[0] if folder else f"{opening}{place.removeprefix('docs/')}{anchor})"

    return LINK.sub(replace, markdown)
