"""Our classes in the place of `pycocoevalcap` and `pyciderevalcap`, so that not even import lines change."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from capeval.compat import cider, cocoeval, pycocoevalcap

_EVAL = {
    "Bleu": pycocoevalcap.Bleu,
    "Cider": cider.Cider,
    "COCOEvalCap": cocoeval.COCOEvalCap,
    "COCOEvalCapSpice": cocoeval.COCOEvalCapSpice,
    "Meteor": pycocoevalcap.Meteor,
    "PTBTokenizer": pycocoevalcap.PTBTokenizer,
    "Rouge": pycocoevalcap.Rouge,
    "Spice": pycocoevalcap.Spice,
}

# Each module with the names that programs import from it.
MODULES: dict[str, dict[str, Any]] = {
    "pycocoevalcap": {},
    "pycocoevalcap.bleu": {},
    "pycocoevalcap.bleu.bleu": {"Bleu": pycocoevalcap.Bleu},
    "pycocoevalcap.cider": {},
    "pycocoevalcap.cider.cider": {"Cider": cider.Cider},
    "pycocoevalcap.eval": _EVAL,
    "pycocoevalcap.eval_spice": {"COCOEvalCapSpice": cocoeval.COCOEvalCapSpice},
    "pycocoevalcap.meteor": {},
    "pycocoevalcap.meteor.meteor": {"Meteor": pycocoevalcap.Meteor},
    "pycocoevalcap.rouge": {},
    "pycocoevalcap.rouge.rouge": {"Rouge": pycocoevalcap.Rouge},
    "pycocoevalcap.spice": {},
    "pycocoevalcap.spice.spice": {"Spice": pycocoevalcap.Spice},
    "pycocoevalcap.tokenizer": {},
    "pycocoevalcap.tokenizer.ptbtokenizer": {"PTBTokenizer": pycocoevalcap.PTBTokenizer},
    "pyciderevalcap": {},
    "pyciderevalcap.cider": {},
    "pyciderevalcap.cider.cider": {"Cider": cider.PlainCider},
    "pyciderevalcap.ciderD": {},
    "pyciderevalcap.ciderD.ciderD": {"CiderD": cider.CiderD},
    "pyciderevalcap.tokenizer": {},
    "pyciderevalcap.tokenizer.ptbtokenizer": {"PTBTokenizer": pycocoevalcap.PTBTokenizer},
}


def install(*copies: str) -> None:
    """From now on `import pycocoevalcap` and `import pyciderevalcap` give our classes, in this process.

    The packages need not be installed. Modules of theirs that were imported before keep what they have: call this
    first. What we do not have (`pycocoevalcap.bleu.bleu_scorer`) is then not there, rather than theirs.
    `copies`: where a project has a pycocoevalcap of its own inside, such as `nlgeval.pycocoevalcap`.
    """
    for name in ("pycocoevalcap", "pyciderevalcap"):
        _put(name, name)
    for copy in copies:
        _put("pycocoevalcap", copy)


def _put(package: str, place: str) -> None:
    """Our modules of a package, under the name that a program imports it by."""
    for known, contents in MODULES.items():
        if known.split(".")[0] != package:
            continue
        name = place + known.removeprefix(package)
        module = ModuleType(name, "capeval in the place of the package of this name; see capeval.compat.")
        is_package = any(other.startswith(f"{known}.") for other in MODULES)
        module.__spec__ = ModuleSpec(name, None, is_package=is_package)
        if is_package:
            module.__path__ = []
        module.__dict__.update(contents)
        sys.modules[name] = module
        parent, _, last = name.rpartition(".")
        if parent in sys.modules:
            setattr(sys.modules[parent], last, module)
