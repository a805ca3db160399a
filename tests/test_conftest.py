"""What a run of the tests says of those that were skipped."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TESTS = """
import pytest
@pytest.mark.parametrize("number", range(7))
def test_one(number):
    pytest.skip("the folder of larger data is not here")
def test_two():
    pytest.skip("the folder of larger data is not here")
def test_three():
    pytest.importorskip("no_such_package")
"""


def test_skips_are_one_line_a_reason(tmp_path: Path) -> None:
    """The hook alone, out of our conftest: with all of it the small run would take long."""
    source = (Path(__file__).parent / "conftest.py").read_text()
    hook = source[source.index("def pytest_terminal_summary") :].split("\n\n\n")[0]
    (tmp_path / "conftest.py").write_text(f"from collections import Counter\nfrom typing import Any\n{hook}\n")
    (tmp_path / "test_few.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    lines = [line for line in done.stdout.splitlines() if "is not here" in line or "no_such_package" in line]
    assert lines == [
        "   8  the folder of larger data is not here",
        "   1  could not import 'no_such_package': No module named 'no_such_package'",
    ]
