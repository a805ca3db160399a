"""Where assets are looked for, and fetching them from a server on this machine."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import sys
import threading
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from capeval.cli import main
from capeval.errors import DataError, Unavailable, UnknownName
from capeval.io import assets as module
from capeval.io.assets import Asset, AssetFile, fetch_asset, find_asset, installed_assets
from capeval.run import Run

ROOT = Path(__file__).resolve().parents[2]
MIB = 1 << 20
CONTENT = {"config.json": b"{}", "net.onnx": bytes(range(256)) * 40}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(cache=tmp_path / "cache")


@pytest.fixture(autouse=True)
def table(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """One asset, and no packages that hold any."""
    files = tuple(AssetFile(name, hashlib.sha256(data).hexdigest(), len(data)) for name, data in CONTENT.items())
    toy = Asset(name="toy", kind="checkpoint", licence="CC0", files=files, extra="learned")
    monkeypatch.setattr(module, "assets", lambda: {"toy": toy})
    offer(monkeypatch)
    monkeypatch.delenv("CAPEVAL_ASSETS", raising=False)
    yield
    module._offered.cache_clear()


def offer(monkeypatch: pytest.MonkeyPatch, **values: str) -> None:
    """Packages with these entry points are installed."""
    found = [EntryPoint(name, value, module.ENTRY_POINTS) for name, value in values.items()]
    monkeypatch.setattr(module, "entry_points", lambda group: found)
    module._offered.cache_clear()


def put(place: Path, name: str = "toy") -> Path:
    (place / name).mkdir(parents=True)
    for file, data in CONTENT.items():
        (place / name / file).write_bytes(data)
    return place / name


def package(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str = "") -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text(code)
    return tmp_path / name


# --- looking ---


def test_the_order_of_places(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cache, $CAPEVAL_ASSETS, packages: found from the last to the first as they appear."""
    companion = put(package("companion_a", tmp_path, monkeypatch))
    offer(monkeypatch, first="companion_a")
    assert find_asset("toy", run) == companion
    shared = put(tmp_path / "shared")
    monkeypatch.setenv("CAPEVAL_ASSETS", str(tmp_path / "shared"))
    assert find_asset("toy", run) == shared
    cached = put(run.cache / "assets")
    assert find_asset("toy", run) == cached
    assert installed_assets(run) == {"toy": cached}


def test_all_packages_are_looked_through(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    package("companion_b", tmp_path, monkeypatch)
    code = "from pathlib import Path\ndef where() -> Path:\n    return Path(__file__).parent / 'weights'\n"
    second = put(package("companion_c", tmp_path, monkeypatch, code) / "weights")
    other = put(tmp_path / "companion_b", "theirs")
    offer(monkeypatch, one="companion_b", two="companion_c:where")
    assert find_asset("toy", run) == second
    assert find_asset("theirs", run) == other
    assert installed_assets(run) == {"toy": second, "theirs": other}


def test_a_broken_package_does_not_hide_the_others(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    package("companion_d", tmp_path, monkeypatch, "raise RuntimeError('no licence')")
    offer(monkeypatch, broken="companion_d", gone="companion_that_is_not_there")
    with pytest.raises(Unavailable, match=r"broken \(companion_d\) cannot be used: no licence.*gone .* cannot be used"):
        find_asset("toy", run)
    whole = put(package("companion_e", tmp_path, monkeypatch))
    offer(monkeypatch, broken="companion_d", whole="companion_e")
    assert find_asset("toy", run) == whole


def test_a_folder_that_lacks_a_file_is_passed_over(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    (put(run.cache / "assets") / "net.onnx").unlink()
    shared = put(tmp_path / "shared")
    monkeypatch.setenv("CAPEVAL_ASSETS", str(tmp_path / "shared"))
    assert find_asset("toy", run) == shared
    assert installed_assets(run) == {"toy": shared}


def test_what_to_do_is_told(run: Run) -> None:
    with pytest.raises(Unavailable, match=r"pip install .*\[learned\].? or `capeval data fetch toy`"):
        find_asset("toy", run)
    with pytest.raises(UnknownName, match="Did you mean toy"):
        find_asset("tow", run)


# --- fetching ---


@pytest.fixture
def mirror(site: Any) -> Any:
    pytest.importorskip("httpx")
    site.files = {f"/mirror/toy/{name}": data for name, data in CONTENT.items()}
    return site


def fetch(mirror: Any, run: Run) -> Path:
    return fetch_asset("toy", f"{mirror.url}/mirror/", run, pause=0.0)


def is_whole(folder: Path) -> bool:
    """All files are right, and nothing else is there."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix != ".lock"} == CONTENT


def test_fetching(mirror: Any, run: Run) -> None:
    assert is_whole(fetch(mirror, run))
    assert find_asset("toy", run) == run.cache / "assets" / "toy"
    fetch(mirror, run)
    assert len(mirror.requests) == 2, "what is there is not fetched again"


def test_progress(mirror: Any, notes: Any, tmp_path: Path) -> None:
    fetch(mirror, Run(progress=notes, cache=tmp_path))
    assert notes.bars == ["fetching toy"]
    assert notes.shown == sorted(notes.shown)
    assert notes.shown[-1] == sum(map(len, CONTENT.values()))


@pytest.mark.parametrize("has_ranges", [True, False])
def test_a_broken_connection(mirror: Any, run: Run, has_ranges: bool) -> None:
    mirror.has_ranges, mirror.breaks = has_ranges, [10**9, 700, 1500, 5000]
    assert is_whole(fetch(mirror, run))
    assert mirror.requests[1:3] == ["", "bytes=700-"]


def test_the_next_call_goes_on(mirror: Any, run: Run) -> None:
    mirror.breaks = [10**9, 3000, *[0] * 5]
    with pytest.raises(DataError, match="the connection failed"):
        fetch(mirror, run)
    with pytest.raises(Unavailable):
        find_asset("toy", run)
    mirror.breaks, mirror.requests = [], []
    assert is_whole(fetch(mirror, run))
    assert mirror.requests == ["bytes=3000-"]


def test_a_call_that_was_killed_at_the_very_end(mirror: Any, run: Run) -> None:
    part = run.cache / "assets" / "toy" / ".net.onnx.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(CONTENT["net.onnx"])
    assert is_whole(fetch(mirror, run))
    assert len(mirror.requests) == 1


@pytest.mark.parametrize("wrong", [b"x" * len(CONTENT["net.onnx"]), CONTENT["net.onnx"] + b"x", b""])
def test_a_damaged_file(mirror: Any, run: Run, wrong: bytes) -> None:
    mirror.files["/mirror/toy/net.onnx"] = wrong
    with pytest.raises(DataError, match=r"net\.onnx: (what the server sent is damaged|the server sent more)"):
        fetch(mirror, run)
    with pytest.raises(Unavailable):
        find_asset("toy", run)
    mirror.files["/mirror/toy/net.onnx"] = CONTENT["net.onnx"]
    assert is_whole(fetch(mirror, run)), "nothing of the damaged one is left"


def test_a_missing_file(mirror: Any, run: Run) -> None:
    mirror.status = 404
    with pytest.raises(DataError, match="404"):
        fetch(mirror, run)
    assert len(mirror.requests) == 1


def test_a_server_that_is_not_there(run: Run) -> None:
    pytest.importorskip("httpx")
    with pytest.raises(DataError, match="the connection failed"):
        fetch_asset("toy", "http://127.0.0.1:9/mirror", run)


def test_two_at_once(mirror: Any, run: Run) -> None:
    threads = [threading.Thread(target=fetch, args=(mirror, run)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert is_whole(run.cache / "assets" / "toy")
    assert len(mirror.requests) == 2


def test_without_an_address(run: Run) -> None:
    with pytest.raises(Unavailable, match="mirror"):
        fetch_asset("toy", run=run)
    with pytest.raises(DataError, match="only http"):
        fetch_asset("toy", "file:///etc", run)


# --- the command ---


Command = Callable[..., tuple[int, str]]


@pytest.fixture
def command(run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """`capeval data`: its exit code and all that it prints."""
    monkeypatch.setenv("CAPEVAL_CACHE", str(run.cache))

    def call(*arguments: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["capeval", "data", *arguments])
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        return code, "".join(capsys.readouterr())

    return call


def test_the_command(mirror: Any, run: Run, command: Command) -> None:
    assert "(not here)" in command("list")[1]
    code, output = command("fetch", "toy", "--from", f"{mirror.url}/mirror")
    assert (code, "CC0" in output) == (0, True)
    code, output = command("list", "--format", "json")
    assert [row["place"] for row in json.loads(output)] == [str(run.cache / "assets" / "toy")]


def test_the_command_without_an_address(command: Command) -> None:
    code, output = command("fetch", "toy")
    assert (code, "[learned]" in output, "--from" in output) == (1, True, True)
    code, output = command("fetch", "tow")
    assert (code, "Did you mean toy" in output) == (2, True)


# --- what is in the repository ---


def test_files_of_the_packages_are_small_enough() -> None:
    """25 MiB a file, so that git hosts take it, and 95 MB a wheel, so that PyPI does."""
    for package in (ROOT / "src" / "capeval", *ROOT.glob("packages/*/src/*")):
        sizes = {path: path.stat().st_size for path in package.rglob("*") if path.is_file() and path.suffix != ".so"}
        assert max(sizes.values()) <= 25 * MIB
        assert sum(sizes.values()) <= 95e6
    base = sum(path.stat().st_size for path in (ROOT / "src" / "capeval" / "data").rglob("*") if path.is_file())
    assert base <= 32e6, "the base package holds tables, parser and vectors only"


def test_the_table_is_that_of_the_packages() -> None:
    spec = importlib.util.spec_from_file_location("build_assets", ROOT / "tools" / "build_assets.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert tool.OUTPUT.read_bytes() == tool.build(), "run python tools/build_assets.py"
