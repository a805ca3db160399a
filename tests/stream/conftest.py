"""Makes `stream_maker.py`, beside this file, importable by the tests here."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

spec = importlib.util.spec_from_file_location("stream_maker", Path(__file__).with_name("stream_maker.py"))
assert spec is not None
assert spec.loader is not None
sys.modules["stream_maker"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sys.modules["stream_maker"])
