"""Compares `_compiled.pyi` with the compiled engine by mypy's stubtest: functions, their parameters and their order.

    python tools/check_stub.py

stubtest does not know the functions that nanobind makes. They tell their signature as text, which is read here.
"""

from __future__ import annotations

import importlib.util
import inspect
import re
import sys
from typing import Any

from mypy import stubtest

MODULE = "capeval.engine._compiled"
_known = stubtest.is_probably_a_function, stubtest.safe_inspect_signature


def is_function(runtime: Any) -> bool:
    return hasattr(runtime, "__nb_signature__") or _known[0](runtime)


def signature(runtime: Any) -> inspect.Signature | None:
    if not hasattr(runtime, "__nb_signature__"):
        return _known[1](runtime)
    ((text, *_),) = runtime.__nb_signature__
    inner = text[text.index("(") + 1 : text.rindex(") ->")]
    names = re.findall(r"(\w+): ", re.sub(r"\[[^\[\]]*\]", "", inner))
    return inspect.Signature([inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names])


def main() -> int:
    if importlib.util.find_spec(MODULE) is None:
        print("the compiled engine was not built: nothing to check", file=sys.stderr)
        return 0
    stubtest.is_probably_a_function, stubtest.safe_inspect_signature = is_function, signature
    return stubtest.test_stubs(stubtest.parse_options([MODULE]))


if __name__ == "__main__":
    sys.exit(main())
