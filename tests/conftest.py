"""What several test files share: data, and the choice of an engine."""

from __future__ import annotations

import gzip
import importlib.util
import json
import os
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from capeval import engine
from capeval.errors import CapevalError
from capeval.run import Progress
from capeval.scene.official.grammar import grammar_path, import_grammar
from capeval.types import Dataset, Sample

ROOT = Path(__file__).resolve().parents[1]
GOLDEN = ROOT / "tests" / "golden"

# Tests keep their own cache, so that they neither use nor change the user's. It lasts: METEOR's index takes a while.
os.environ.setdefault("CAPEVAL_CACHE", str(ROOT / ".test-cache"))

# Machines differ in speed: no deadline. Fixtures here only choose an engine or name a directory.
settings.register_profile("capeval", deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
settings.load_profile("capeval")


# Tests of the compiled engine skip where it was not built; who asks for it does not want that, and gets an error here.
if os.environ.get("CAPEVAL_ENGINE") == "compiled":
    engine.load()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Which tests were skipped: one line for each reason, however many tests have it."""
    reasons: Counter[str] = Counter()
    for report in terminalreporter.stats.get("skipped", []):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        reasons[reason.removeprefix("Skipped: ")] += 1
    if reasons:
        terminalreporter.section("skipped, by reason")
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"{count:>4}  {' '.join(reason.split())}")


def use_engine(name: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("CAPEVAL_ENGINE", name)
    try:
        engine.load()
    except CapevalError as problem:
        pytest.skip(str(problem))
    return name


@pytest.fixture(params=engine.NAMES)
def each_engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Runs the test twice, with either engine."""
    return use_engine(request.param, monkeypatch)


@pytest.fixture
def compiled_engine(monkeypatch: pytest.MonkeyPatch) -> str:
    return use_engine("compiled", monkeypatch)


@pytest.fixture
def python_engine(monkeypatch: pytest.MonkeyPatch) -> str:
    return use_engine("python", monkeypatch)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of larger official outputs and data, which is not part of the repository."""
    place = Path(os.environ.get("CAPEVAL_DATA") or ROOT.parent / "shared")
    if not (place / "golden").is_dir():
        pytest.skip(f"{place} has no golden outputs; set CAPEVAL_DATA to the folder that does")
    return place


@pytest.fixture(scope="session", autouse=True)
def grammar() -> None:
    """SPICE's grammar, where the folder of larger data has it; else tests of `spice` skip themselves."""
    source = Path(os.environ.get("CAPEVAL_DATA") or ROOT.parent / "shared") / "data" / "corenlp" / "englishPCFG.ser.gz"
    if source.is_file() and not grammar_path().is_file():
        import_grammar(source)


def read_json(path: Path) -> Any:
    return json.loads(gzip.decompress(path.read_bytes()))


@pytest.fixture(scope="session")
def official_300() -> dict[str, Any]:
    """Captions of 300 images, their references, and the scores that pycocoevalcap gives them."""
    return dict(read_json(GOLDEN / "scores_300.json.gz"))


@pytest.fixture(scope="session", params=["250 that are here", "1,000"])
def official_parses(request: pytest.FixtureRequest) -> list[dict[str, Any]]:
    """What the official parser made of COCO captions, the first of them."""
    here, path = request.param != "1,000", GOLDEN / "spice_parses_250.jsonl.gz"
    if not here:
        path = request.getfixturevalue("shared") / "golden" / "spice" / "parses_coco.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in islice(file, 250 if here else 1000)]


OFFICIAL_NAMES = {f"bleu_{n}": f"Bleu_{n}" for n in range(1, 5)} | {
    "rouge_l": "ROUGE_L",
    "cider_d": "CIDEr",
    "meteor": "METEOR",
}


@pytest.fixture(scope="session")
def official(request: pytest.FixtureRequest) -> Callable[[str], dict[str, Any]]:
    """The larger sets, `1k`, which is here, and `5k`, in the form of `official_300`."""

    def load(size: str) -> dict[str, Any]:
        folder = GOLDEN if size == "1k" else request.getfixturevalue("shared") / "golden"
        rows = read_json(folder / f"coco_{size}.json.gz")
        scores = read_json(folder / f"pycocoevalcap_{size}.json.gz")
        assert [row["image_id"] for row in rows] == scores["image_ids"]
        return {
            "candidates": {row["image_id"]: row["candidate"] for row in rows},
            "references": {row["image_id"]: row["references"] for row in rows},
            "corpus": {ours: scores["corpus"][theirs] for ours, theirs in OFFICIAL_NAMES.items()},
            "per_caption": {ours: scores["per_image"][theirs] for ours, theirs in OFFICIAL_NAMES.items()},
        }

    return load


@pytest.fixture
def small() -> Dataset:
    """Two systems on six images with three references each."""
    references = {
        "beach": ("a dog runs along the beach", "a brown dog is running on the sand", "the dog is at the sea"),
        "kitchen": ("a woman cooks in a kitchen", "a lady is making food", "a woman stands at the stove"),
        "street": ("two cars are parked on a street", "cars stand near a tall building", "a quiet street with cars"),
        "park": ("children play in the park", "two kids are playing with a ball", "a boy and a girl on the grass"),
        "table": ("a plate of pizza on a table", "the pizza has cheese and tomatoes", "some food on a white plate"),
        "snow": ("a man skis down a hill", "a skier in a red jacket on the snow", "someone is skiing"),
    }
    captions = {
        "one": [
            "a dog running on the beach",
            "a woman in a kitchen",
            "cars on a street",
            "kids play with a ball",
            "a pizza with cheese on a plate",
            "a man in a red jacket is skiing down the hill",
        ],
        "two": [
            "a cat on a sofa",
            "a lady is making food",
            "a tall building",
            "a boy on the grass in the park",
            "a cake",
            "a man skis down a hill",
        ],
    }
    return Dataset.from_samples(
        [
            Sample(f"{image}-{system}", image, caption, references[image], system)
            for system, texts in captions.items()
            for image, caption in zip(references, texts, strict=True)
        ]
    )


@pytest.fixture(scope="session")
def write_scan() -> Callable[..., Path]:
    """Writes a small SCAN into a folder; see `scan_maker.py`."""
    return _maker("scan_maker", "write_scan")


@pytest.fixture(scope="session")
def write_uice() -> Callable[..., Path]:
    """Writes small modules of UICE into a folder; see `uice_maker.py`."""
    return _maker("uice_maker", "write_uice")


def _maker(name: str, function: str) -> Callable[..., Path]:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    spec = importlib.util.spec_from_file_location(name, ROOT / "tests" / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return cast("Callable[..., Path]", getattr(module, function))


@pytest.fixture(scope="session")
def small_uice(write_uice: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of modules that know the words of `small`, and pictures of 8 numbers."""
    return write_uice(tmp_path_factory.mktemp("uice"))


@pytest.fixture(scope="session")
def small_scan(write_scan: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of one that knows the words of `small`."""
    return write_scan(tmp_path_factory.mktemp("scan"))


@pytest.fixture
def beach(tmp_path: Path) -> Path:
    """A folder with a picture, `beach.png`, all grey, and made-up regions of it in `regions.npz`, which `small_scan`
    knows: cells of a grid of 4 x 4.
    """
    image = pytest.importorskip("PIL.Image")
    image.new("RGB", (120, 80), (128, 128, 128)).save(tmp_path / "beach.png")
    y, x = np.divmod(np.arange(16), 4)
    boxes = np.stack([x, y, x + 1, y + 1], axis=1)[None] / 4
    regions = np.random.default_rng(5).standard_normal((1, 16, 8))
    np.savez(tmp_path / "regions.npz", ids=np.array(["beach"]), regions=regions, boxes=boxes)
    return tmp_path


class Notes(Progress):
    """Keeps what the library tells, instead of showing it."""

    def __init__(self) -> None:
        self.messages: list[str] = []
        self.bars: list[str] = []
        self.shown: list[int] = []

    def note(self, message: str) -> None:
        self.messages.append(message)

    @contextmanager
    def bar(self, what: str, total: int | None = None, unit: str = "") -> Iterator[Callable[[int], None]]:
        self.bars.append(what)
        yield self.shown.append


@pytest.fixture
def notes() -> Notes:
    return Notes()


@dataclass
class Site:
    """A server on this machine: what it has, and how it behaves."""

    content: bytes = b""
    files: dict[str, bytes] = field(default_factory=dict)
    """Contents by path; any other path has `content`."""
    has_ranges: bool = True
    breaks: list[int] = field(default_factory=list)
    """For each answer in turn, after how many bytes the connection breaks."""
    status: int = 200
    troubles: list[int] = field(default_factory=list)
    """Status codes of the first answers."""
    redirects: int = 0
    """How many times a request is sent on before it is answered."""
    sent: int = 0
    requests: list[str] = field(default_factory=list)
    """The ranges that were asked for."""
    paths: list[str] = field(default_factory=list)
    url: str = ""


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    site = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            hops = int(self.path.partition("?hop=")[2] or 0)
            if hops < site.redirects:
                self.send_response(302)
                self.send_header("Location", f"{self.path.partition('?')[0]}?hop={hops + 1}")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            asked = self.headers.get("Range", "")
            site.requests.append(asked)
            site.paths.append(self.path)
            # Taken before the answer begins: the client may ask again as soon as it has seen the headers.
            limit = site.breaks.pop(0) if site.breaks else None
            status = site.troubles.pop(0) if site.troubles else site.status
            content = site.files.get(self.path, site.content)
            part = re.fullmatch(r"bytes=(\d+)-(\d*)", asked) if site.has_ranges else None
            size = len(content)
            begin, end = (int(part[1]), min(size, int(part[2] or size) + 1)) if part else (0, size)
            self.send_response(206 if part and status == 200 else status)
            if part:
                self.send_header("Content-Range", f"bytes {begin}-{end - 1}/{size}")
            self.send_header("Content-Length", str(end - begin))
            self.end_headers()
            body = content[begin:end][:limit]
            try:
                self.wfile.write(body)
                site.sent += len(body)
            except OSError:
                pass  # the client has seen enough

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    site.url = f"http://127.0.0.1:{server.server_port}"
    yield site
    server.shutdown()
    thread.join()
    server.server_close()
