"""Runs all benchmarks in this folder, one after the other: `make bench`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent

if __name__ == "__main__":
    for script in sorted(HERE.glob("*.py")):
        if script.name not in ("run.py", "common.py", "coco.py", "peers.py", "vit.py", "scaledata.py"):
            print(f"== {script.name}", file=sys.stderr)
            subprocess.run([sys.executable, script.name], cwd=HERE, check=True)
