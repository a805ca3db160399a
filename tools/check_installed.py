"""Checks the capeval that this Python has installed: that it is whole, has the compiled engine and gives its numbers.

    python tools/check_installed.py

Needs nothing but capeval and its dependencies; run for every wheel, by `make wheel` and by cibuildwheel.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from importlib.metadata import version
from pathlib import Path

import capeval
from capeval import engine

# What the embedded captions score, by metrics that need nothing but the package.
EXPECTED = {"bleu_4": 0.368941, "rouge_l": 0.626057, "cider_d": 1.338620, "spice_fast": 0.261143, "wmd": 0.114359}


def main() -> None:
    package = Path(capeval.__file__).parent
    assert package.is_relative_to(sysconfig.get_path("platlib")), f"{package} is a checkout, not what was installed"
    assert engine.active() == "compiled", "the wheel has no compiled engine"
    assert capeval.__version__ == version("capeval")
    command = Path(sysconfig.get_path("scripts")) / ("capeval.exe" if sys.platform == "win32" else "capeval")
    demo = package / "data" / "demo"
    run = [str(command), "score", str(demo / "system_a.json"), "-r", str(demo / "references.json"), "--format", "json"]
    for name in EXPECTED:
        run += ["-m", name]
    found = {}
    for which in ("compiled", "python"):
        environment = os.environ | {"CAPEVAL_ENGINE": which}
        done = subprocess.run(run, stdout=subprocess.PIPE, encoding="utf-8", env=environment, check=True)
        found[which] = json.loads(done.stdout)["scores"]
    assert found["compiled"] == found["python"], found
    for name, score in EXPECTED.items():
        assert abs(found["compiled"][name] - score) < 1e-6, (name, found["compiled"][name], score)
    print(f"capeval {capeval.__version__} on Python {sys.version.split()[0]}, {sys.platform}: installed whole")


if __name__ == "__main__":
    main()
