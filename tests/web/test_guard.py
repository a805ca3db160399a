"""Who may ask, how much and how slowly; hostile requests get a clear 4xx and leave nothing behind."""

from __future__ import annotations

import gzip
import io
import json
import socket
import struct
import subprocess
import sys
import threading
import time
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from capeval.web.jobs import sweep
from capeval.web.orders import order_from_json
from capeval.web.settings import Settings, is_loopback

from .served import CAPTIONS, LIMITS, scored, served
from .test_rest import picture


@pytest.mark.parametrize("path", ["/healthz", "/v1/metrics", "/nothing", "/"])
def test_every_answer_has_security_headers_and_no_cors(client: Any, path: str) -> None:
    answer = client.get(path, headers={"origin": "http://elsewhere.example"})
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    script = next(part for part in policy.split("; ") if part.startswith("script-src"))
    assert script == "script-src 'self'"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["x-frame-options"] == "DENY"
    assert "access-control-allow-origin" not in answer.headers


def test_pages_of_others_may_not_ask(client: Any) -> None:
    for headers in ({"origin": "http://evil.example"}, {"origin": "null"}, {"sec-fetch-site": "cross-site"}):
        answer = client.post("/v1/score", json=CAPTIONS, headers=headers)
        assert answer.status_code == 403
    own = client.post("/v1/score", json={**CAPTIONS, "metrics": ["bleu"]}, headers={"origin": client.listening.url})
    assert own.status_code == 200


def test_other_names_for_this_machine_are_refused(client: Any) -> None:
    """A page whose name server answers with 127.0.0.1 still says its own name."""
    assert client.get("/healthz", headers={"host": "evil.example:8765"}).status_code == 421
    assert client.get("/healthz", headers={"host": "127.0.0.1:8765"}).status_code == 200


@pytest.fixture(scope="module")
def locked() -> Iterator[Any]:
    settings = Settings(host="0.0.0.0", token="secret", limits=LIMITS, warm=False)
    with served(settings, headers={"host": "somewhere.example"}) as opened:
        yield opened


def test_a_token_is_demanded(locked: Any) -> None:
    for path in ("/", "/v1/metrics", "/metrics", "/nothing"):
        assert locked.get(path).status_code == 401
    assert locked.get("/healthz").status_code == 200
    for wrong in ("Bearer other", "Bearer", "Basic secret", "Bearer s\u00e9cret".encode("latin-1").decode("latin-1")):
        assert locked.get("/v1/metrics", headers={"authorization": wrong.encode("latin-1")}).status_code == 401
    assert locked.get("/v1/metrics", headers={"authorization": "Bearer secret"}).status_code == 200


def test_a_browser_gets_the_token_as_a_cookie(locked: Any) -> None:
    answer = locked.get("/v1/metrics", params={"token": "secret", "x": "1"}, follow_redirects=False)
    assert answer.status_code == 303
    assert answer.headers["location"] == "/v1/metrics?x=1"
    assert "httponly" in answer.headers["set-cookie"].lower()
    assert locked.get("/v1/metrics").status_code == 200
    locked.cookies.clear()
    assert locked.get("/v1/metrics", params={"token": "wrong"}).status_code == 401


def first_line(port: int, *lines: str) -> bytes:
    """What a server says to a request whose head is written out, as no client would."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall("".join(f"{line}\r\n" for line in [*lines, "Connection: close", ""]).encode("latin-1"))
        return received(connection)


@pytest.mark.parametrize("host", ["[::1", "[", "evil.example", "localhost@evil.example", "127.0.0.1.", "\xff", "a b"])
def test_hosts_that_are_not_ours(client: Any, host: str) -> None:
    assert b" 421 " in first_line(client.listening.port, "GET /healthz HTTP/1.1", f"Host: {host}").split(b"\r\n")[0]


@pytest.mark.parametrize("line", ["Origin: http://[", "Origin: \xff", "Origin: //", "Sec-Fetch-Site: same-site"])
def test_origins_that_are_not_ours(client: Any, line: str) -> None:
    port = client.listening.port
    head = ["POST /v1/score HTTP/1.1", f"Host: localhost:{port}", "Content-Type: application/json", "Content-Length: 0"]
    assert b" 403 " in first_line(port, *head, line).split(b"\r\n")[0]


def test_a_token_leads_to_no_other_server(locked: Any) -> None:
    said = first_line(locked.listening.port, "GET //evil.example/x?token=secret HTTP/1.1", "Host: somewhere.example")
    assert b"location: /evil.example/x\r\n" in said


def test_only_this_machine_goes_without_a_token() -> None:
    assert [is_loopback(host) for host in ("127.0.0.1", "127.1.2.3", "::1", "localhost")] == [True] * 4
    assert [is_loopback(host) for host in ("0.0.0.0", "10.0.0.1", "::", "evil.localhost.example", "")] == [False] * 5


def test_small_answers_are_sent_at_once() -> None:
    """Where the socket names its protocol asyncio does not wait for more to send; else an answer takes 40 ms longer."""
    from capeval.web.serving import _socket

    with _socket(Settings(port=0)) as listening:
        client = socket.create_connection(listening.getsockname())
        accepted, _ = listening.accept()
        with client, accepted:
            assert accepted.proto == socket.IPPROTO_TCP


# Wrong requests -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 422), (b"{", 422), (b"[]", 422), (b"null", 422), (b"\xff\xfe", 422), (b'{"candidates": 3}', 422),
        (b'{"candidates": []}', 422), (b'{"candidates": [1]}', 422), (b'{"candidates": ["a"], "metrics": "bleu"}', 422),
        (b'{"candidates": ["a"], "extra": 1}', 422), (b'{"candidates": ["a"], "references": [["b"], ["c"]]}', 422),
        (b'{"candidates": ["a"], "references": [["b"]], "metrics": ["blue"]}', 422),
        (b'{"candidates": ["a"], "metrics": ["bleu"]}', 422), (b"[" * 100_000, 422),
        (b'{"candidates": ["a \\ud800"], "references": [["a"]], "metrics": ["bleu"]}', 422),
    ],
)  # fmt: skip
def test_wrong_json(client: Any, body: bytes, status: int) -> None:
    answer = client.post("/v1/score", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == status, answer.text
    assert len(answer.json()["error"]) > 10


def test_too_much(client: Any) -> None:
    many = {"candidates": ["a"] * 2001, "references": [["a"]] * 2001}
    assert scored(client, many).status_code == 413
    assert scored(client, {"candidates": ["a" * 501], "references": [["a"]]}).status_code == 413
    assert scored(client, {"candidates": ["a"], "references": [["a"] * 21]}).status_code == 413
    large = client.post("/v1/score", content=b" " * 600_000, headers={"content-type": "application/json"})
    assert large.status_code == 413
    assert "500,000 bytes" in large.json()["error"]
    form = client.post("/v1/score", files={"candidates": ("a.json", b" " * 3_100_000)})
    assert form.status_code == 413


def test_unknown_forms(client: Any) -> None:
    assert client.post("/v1/score", content=b"x", headers={"content-type": "text/plain"}).status_code == 415
    broken = client.post("/v1/score", content=b"x", headers={"content-type": "multipart/form-data; boundary=y"})
    assert broken.status_code in (400, 422)
    assert client.post("/v1/score", files={"other": ("a.json", b"{}")}).status_code == 422
    assert client.get("/v1/score").status_code == 405
    assert scored(client, CAPTIONS, wait="nan").status_code == 400


@pytest.mark.parametrize(
    "metric",
    ["cider_d(df=/etc/passwd)", "cider_d(df=../../x.df)", "lece(checkpoint=/tmp)", "wmd(vectors=http://x.example/v)",
     "spice(parses=/etc/passwd)", "nneval(checkpoint=~/x)", "spider(df=pyproject.toml)", "cider_d(df=-)",
     "uice(checkpoint=.)", "wmd(vectors=src)"],
)  # fmt: skip
def test_no_path_of_a_client_is_opened(client: Any, metric: str, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    real = Path.open
    monkeypatch.setattr(Path, "open", lambda self, *a, **k: (opened.append(str(self)), real(self, *a, **k))[1])
    answer = scored(client, {**CAPTIONS, "metrics": [metric]})
    assert answer.status_code == 422
    assert opened == []


@pytest.mark.parametrize("name", ["../../../tmp/evil.json", "/etc/passwd", "C:\\evil.json", "a\0b.json", "x" * 5000])
def test_names_of_files_are_no_paths(client: Any, name: str) -> None:
    content = json.dumps([{"image_id": "1", "caption": "a", "references": ["a b"]}])
    answer = client.post("/v1/score", files={"candidates": (name, content)}, data={"metrics": "bleu"})
    assert answer.status_code in (200, 400, 422)
    assert not Path("/tmp/evil.json").exists()


def test_messages_do_not_show_our_folders(client: Any) -> None:
    answer = client.post("/v1/score", files={"candidates": ("a.json", "{broken")})
    assert answer.status_code == 422
    assert "/" not in answer.json()["error"].split(":")[0]
    assert "capeval-serve" not in answer.json()["error"]


# Bombs ----------------------------------------------------------------------------------------------------------------


def test_a_packed_file_that_unpacks_to_too_much(client: Any) -> None:
    content = b'[{"image_id": "1", "caption": "' + b"a" * 2_500_000 + b'"}]'
    answer = client.post("/v1/score", files={"candidates": ("a.json.gz", gzip.compress(content))})
    assert answer.status_code == 413


def archive(files: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in files.items():
            made.writestr(name, content)
    return stream.getvalue()


def bombed_png(width: int, height: int) -> bytes:
    """A head that promises many pixels."""
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = b""
    for kind, data in ((b"IHDR", head), (b"IDAT", zlib.compress(b"\0" * 100)), (b"IEND", b"")):
        parts += struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return b"\x89PNG\r\n\x1a\n" + parts


@pytest.mark.parametrize(
    ("name", "data", "status"),
    [
        ("a.png", b"no picture", 422),
        ("a.png", b"", 422),
        ("a.png", picture()[:20], 422),
        ("a.svg", b"<svg xmlns='http://www.w3.org/2000/svg'/>", 422),
        ("a.png", bombed_png(60_000, 60_000), 413),
        ("a.png", bombed_png(2_000, 2_000), 413),
        ("a.jpg", b"\xff\xd8\xff" + b"\0" * 400_000, 413),
        ("a.zip", archive({"a.png": b"\0" * 2_500_000}), 413),
        ("a.zip", archive({f"{i}.png": picture() for i in range(6)}), 413),
        ("a.zip", archive({f"{i}/": b"" for i in range(30)}), 413),
        ("a.zip", archive({"a.png": picture(), "b/a.png": picture()}), 422),
        ("a.zip", archive({"../../evil.txt": b"x"}), 422),
        ("a.zip", archive({"a.png": picture()})[:-30], 422),
        ("a.zip", b"PK\x03\x04", 422),
    ],
)
def test_pictures_that_are_none(client: Any, name: str, data: bytes, status: int) -> None:
    pytest.importorskip("PIL")
    files: Any = [("candidates", ("a.json", '{"a": "a cat"}')), ("images", (name, data))]
    answer = client.post("/v1/score", files=files, data={"metrics": "uice_syn"})
    assert answer.status_code == status or (data == b"" and answer.status_code == 200), answer.text


def test_a_damaged_picture_is_told_when_it_is_looked_at(client: Any) -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("capeval_models")
    files: Any = [("candidates", ("a.json", '{"a": "a cat"}')), ("images", ("a.png", bombed_png(40, 30)))]
    answer = client.post("/v1/score", files=files, data={"metrics": "uice_sem"})
    assert answer.status_code == 422
    assert "damaged" in answer.json()["error"]
    assert "capeval-serve" not in answer.json()["error"]


def test_uploads_vanish(client: Any) -> None:
    server = client.listening.app.state.server
    before = set(server.desk.folder.iterdir())
    client.post("/v1/score", files={"candidates": ("a.json", '{"a": "a cat"}')}, data={"metrics": "uice_syn"})
    client.post("/v1/score", files={"candidates": ("a.json", "broken")})
    assert set(server.desk.folder.iterdir()) == before


def test_a_result_with_very_many_entries(client: Any) -> None:
    data = archive({str(i): b"" for i in range(10_001)})
    assert client.post("/open-result", files={"result": ("a.npz", data)}).status_code == 413


def test_long_captions_do_not_keep_short_ones_waiting(client: Any) -> None:
    desk, gate = client.listening.app.state.server.desk, threading.Event()
    order = order_from_json(json.dumps({"candidates": ["a " * 200], "references": [["a"]]}).encode(), LIMITS)
    waiting = [desk.hand_in(desk.new_job(order), lambda job: gate.wait(60)) for _ in range(8)]
    try:
        assert scored(client, CAPTIONS, wait=30).status_code == 200
    finally:
        gate.set()
        for each in waiting:
            each.result()


# Slow clients, and the end --------------------------------------------------------------------------------------------


def received(connection: socket.socket) -> bytes:
    data = b""
    while piece := connection.recv(65536):
        data += piece
    return data


@pytest.fixture(scope="module")
def hasty() -> Iterator[Any]:
    with served(Settings(limits=replace(LIMITS, body_seconds=1.0, head_seconds=1.0), warm=False)) as opened:
        yield opened


def test_a_slow_head_is_not_waited_for(hasty: Any) -> None:
    with socket.create_connection(("127.0.0.1", hasty.listening.port), timeout=30) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: local")
        begin = time.monotonic()
        assert received(connection) == b""
        assert time.monotonic() - begin < 25


def test_a_slow_body_is_not_waited_for(hasty: Any) -> None:
    head = (
        f"POST /v1/score HTTP/1.1\r\nHost: localhost:{hasty.listening.port}\r\nContent-Type: application/json\r\n"
        "Content-Length: 100\r\n\r\n{"
    )
    with socket.create_connection(("127.0.0.1", hasty.listening.port), timeout=30) as connection:
        connection.sendall(head.encode())
        assert b" 408 " in received(connection).split(b"\r\n")[0]


def test_what_a_killed_server_left_behind_goes_with_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = (
        "import time\nfrom capeval.web.jobs import Desk\nfrom capeval.web.settings import Settings\n"
        "desk = Desk(Settings())\n(desk.new_folder() / 'half').write_text('x')\nprint(desk.folder, flush=True)\n"
        "time.sleep(60)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        text=True,
        env={"TMPDIR": str(tmp_path), "PATH": "/usr/bin"},
    )
    assert process.stdout is not None
    folder = Path(process.stdout.readline().strip())
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    sweep()
    assert folder.is_dir()  # it is in use
    process.kill()
    process.wait()
    process.stdout.close()
    assert folder.is_dir()
    sweep()
    assert not folder.exists()
