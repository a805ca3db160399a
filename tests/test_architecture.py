"""The rooms and their order: what docs/architecture.md draws is what the code does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def test_the_drawing_is_that_of_the_code() -> None:
    pytest.importorskip("grimp")
    done = subprocess.run([sys.executable, str(ROOT / "tools" / "docs" / "architecture.py"), "--check"], check=False)
    assert done.returncode == 0, "draw it again with: python tools/docs/architecture.py"


def test_every_room_has_its_paragraph() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    described = {
        name.strip() for line in text.split("\n") if line.startswith("**") for name in line.split("**")[1].split(",")
    }
    rooms = {path.name for path in (ROOT / "src" / "capeval").iterdir() if (path / "__init__.py").is_file()}
    assert rooms <= described


def test_the_order_of_the_rooms() -> None:
    pytest.importorskip("importlinter")
    program = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports())"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "0 broken" in done.stdout
