"""`python -m capeval.compat run SCRIPT ...`: a program, with ours in the place of pycocoevalcap and pyciderevalcap."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

from capeval.compat.modules import install

USAGE = """usage: python -m capeval.compat run SCRIPT.py [ARGUMENTS ...]
       python -m capeval.compat run -m MODULE [ARGUMENTS ...]

Runs a program with capeval in the place of pycocoevalcap and pyciderevalcap."""


def main(arguments: list[str]) -> int:
    if len(arguments) < 2 or arguments[0] != "run" or arguments[1:] == ["-m"]:
        print(USAGE, file=sys.stderr)
        return 2
    install()
    is_module = arguments[1] == "-m"
    target, *rest = arguments[2:] if is_module else arguments[1:]
    sys.argv = [target, *rest]
    # As Python itself does it: a program finds the modules beside it, a module those of the working folder.
    sys.path[0] = "" if is_module else str(Path(target).absolute().parent)
    if is_module:
        runpy.run_module(target, run_name="__main__", alter_sys=True)
    elif Path(target).is_file():
        runpy.run_path(target, run_name="__main__")
    else:
        print(f"{target}: there is no such file", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
