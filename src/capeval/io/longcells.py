"""A reader of CSV whose cells may be of any length.

The `csv` module refuses cells above a limit, and the limit is one for the whole process: raised for one file, it is
raised for every thread, and set back under a thread that still reads. So this is a copy of the module that nobody else
has, with a limit of its own.
"""

from __future__ import annotations

from importlib.util import find_spec, module_from_spec
from typing import Any


def _own_copy() -> Any:
    spec = find_spec("_csv")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    module.field_size_limit(2**31 - 1)  # the most that every platform takes
    return module


_csv = _own_copy()
reader, Error = _csv.reader, _csv.Error
