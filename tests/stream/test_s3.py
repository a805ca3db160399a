"""Shards at addresses: read from and written to an S3 server that runs here (moto). `make test-ray` installs it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import stream_maker as maker

from capeval.stream.folder import Folder
from capeval.stream.job import score_shards
from capeval.stream.local import Local
from capeval.stream.work import Job

pytest.importorskip("pyarrow")
moto_server = pytest.importorskip("moto.server")
pytestmark = pytest.mark.filterwarnings("ignore")  # of moto's own


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    started = moto_server.ThreadedMotoServer(port=0)
    started.start()
    host, port = started.get_host_and_port()
    yield f"{host}:{port}"
    started.stop()


@pytest.fixture
def bucket(server: str, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, str]:
    """A bucket, and what stands behind its address."""
    from pyarrow import fs

    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    system = fs.S3FileSystem(endpoint_override=server, scheme="http", region="us-east-1", allow_bucket_creation=True)
    system.create_dir("captions")
    return system, f"?endpoint_override={server}&scheme=http&region=us-east-1"


@pytest.mark.parametrize("metrics", [("rouge_l",), ("cider_d",)])
def test_shards_of_a_bucket(bucket: tuple[Any, str], tmp_path: Path, metrics: tuple[str, ...]) -> None:
    system, query = bucket
    local = maker.write_shards(tmp_path / "in", maker.made_rows(90, images=40), 3)
    for path in local:
        with system.open_output_stream(f"captions/in-{metrics[0]}/{Path(path).name}") as stream:
            stream.write(Path(path).read_bytes())
    here = score_shards(local, Job(metrics, str(tmp_path / "out")), Local(1))
    shards, output = f"s3://captions/in-{metrics[0]}/*.parquet{query}", f"s3://captions/out-{metrics[0]}{query}"
    there = score_shards([shards], Job(metrics, output), Local(1))
    assert there.document == here.document
    for each in here.manifest["shards"]:
        with system.open_input_file(f"captions/out-{metrics[0]}/{each['name']}") as stream:
            assert stream.read() == (tmp_path / "out" / each["name"]).read_bytes()
    again = score_shards([shards], Job(metrics, output), _Nobody())  # all is there
    assert again.document == here.document


class _Nobody:
    def run(self, *_: Any) -> Iterator[Any]:
        raise AssertionError("nothing is left to be done")


def test_a_file_appears_whole_or_not_at_all(bucket: tuple[Any, str]) -> None:
    folder = Folder(f"s3://captions/broken{bucket[1]}")

    def half() -> None:
        with folder.writing("a.txt") as stream:
            stream.write(b"half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        half()
    assert folder.facts("a.txt") is None
