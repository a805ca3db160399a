"""The REST interface: what programs are told, and that it is what `capeval.score` gives."""

from __future__ import annotations

import io
import json
import time
import zipfile
from dataclasses import replace
from typing import Any

import pytest

import capeval
from capeval.web.settings import Settings

from .served import CAPTIONS, LIMITS, QUICK, scored, served


def test_scores_are_those_of_the_library(client: Any) -> None:
    answer = scored(client, CAPTIONS)
    assert answer.status_code == 200
    expected = capeval.score(CAPTIONS["candidates"], CAPTIONS["references"], QUICK)
    assert answer.json()["scores"] == expected.scores
    assert answer.json()["signatures"] == expected.signatures
    assert answer.json()["n"] == 2


def test_scores_of_each_caption_and_intervals_on_request(client: Any) -> None:
    answer = scored(client, {**CAPTIONS, "per_caption": True, "intervals": True}).json()
    expected = capeval.score(CAPTIONS["candidates"], CAPTIONS["references"], QUICK)
    assert answer["captions"] == list(expected.records())
    assert answer["intervals"]["bleu_1"]["low"] <= answer["scores"]["bleu_1"]
    assert "captions" not in scored(client, CAPTIONS).json()


def test_without_names_all_metrics_that_can_be_computed(client: Any) -> None:
    pytest.importorskip("capeval_models")
    answer = client.post("/v1/score", json={"candidates": ["a cat on a mat"]}).json()
    # The only ones that need neither references nor pictures.
    assert set(answer["scores"]) - {"fluency"} == {"uice_syn"}
    assert any("lece is left out" in note for note in answer["notes"])
    assert any("bleu is left out" in note for note in answer["notes"])


def test_files(client: Any) -> None:
    rows = "id,caption\n1,a cat on a mat\n2,two dogs\n"
    references = json.dumps({"1": ["a cat sits on a mat", "the cat is on the mat"], "2": ["two dogs run"]})
    answer = client.post(
        "/v1/score",
        files={"candidates": ("ours.csv", rows), "references": ("refs.json", references)},
        data={"metrics": "bleu,rouge_l"},
    )
    assert answer.status_code == 200, answer.text
    assert answer.json()["scores"] == capeval.score(CAPTIONS["candidates"], CAPTIONS["references"], QUICK).scores


def test_several_files_are_several_systems(client: Any) -> None:
    references = json.dumps({"1": ["a cat sits on a mat"]})
    answer = client.post(
        "/v1/score",
        files=[
            ("candidates", ("ours.json", json.dumps({"1": "a cat on a mat"}))),
            ("candidates", ("theirs.json", json.dumps({"1": "a dog"}))),
            ("references", ("refs.json", references)),
        ],
        data={"metrics": "bleu"},
    ).json()
    assert set(answer["systems"]) == {"ours", "theirs"}


def picture(width: int = 40, height: int = 30) -> bytes:
    from PIL import Image

    stream = io.BytesIO()
    Image.new("RGB", (width, height), "red").save(stream, "png")
    return stream.getvalue()


@pytest.mark.parametrize("packed", [False, True])
def test_pictures(client: Any, packed: bool) -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("capeval_models")
    pictures: Any = ("red.png", picture())
    if packed:
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w") as archive:
            archive.writestr("folder/red.png", picture())
        pictures = ("all.zip", stream.getvalue())
    answer = client.post(
        "/v1/score",
        files=[("candidates", ("a.json", json.dumps({"red": "a red wall"}))), ("images", pictures)],
        data={"metrics": "uice_sem"},
    )
    assert answer.status_code == 200, answer.text
    assert set(answer.json()["scores"]) == {"uice_sem"}


# Jobs -----------------------------------------------------------------------------------------------------------------


def finished(client: Any, key: str) -> dict[str, Any]:
    for _ in range(600):
        found: dict[str, Any] = client.get(f"/v1/jobs/{key}").json()
        if found["state"] not in ("waiting", "running"):
            return found
        time.sleep(0.05)
    raise AssertionError("the job does not end")


@pytest.fixture(scope="module")
def job(client: Any) -> str:
    answer = scored(client, CAPTIONS, wait=0)
    assert answer.status_code == 202
    key: str = answer.json()["id"]
    assert answer.headers["location"] == f"/v1/jobs/{key}"
    assert finished(client, key)["state"] == "done"
    return key


def test_a_job_has_the_same_result(client: Any, job: str) -> None:
    direct = scored(client, {**CAPTIONS, "per_caption": True}).json()
    assert client.get(f"/v1/jobs/{job}/result").json() == direct


def test_results_as_tables(client: Any, job: str) -> None:
    text = client.get(f"/v1/jobs/{job}/result", params={"format": "csv"})
    assert text.headers["content-type"].startswith("text/csv")
    assert text.text.splitlines()[0] == "id,image,candidate,bleu_1,bleu_2,bleu_3,bleu_4,rouge_l"
    assert len(text.text.splitlines()) == 3
    pyarrow = pytest.importorskip("pyarrow.parquet")
    table = pyarrow.read_table(
        io.BytesIO(client.get(f"/v1/jobs/{job}/result", params={"format": "parquet"}).content)
    ).to_pydict()
    assert table["candidate"] == CAPTIONS["candidates"]
    lines = client.get(f"/v1/jobs/{job}/result", params={"format": "jsonl"}).text.splitlines()
    assert json.loads(lines[1])["scores"]["rouge_l"] == table["rouge_l"][1]
    assert client.get(f"/v1/jobs/{job}/result", params={"format": "pickle"}).status_code == 400


def test_events_tell_of_progress_until_the_end(client: Any) -> None:
    key = scored(client, CAPTIONS, wait=0).json()["id"]
    with client.stream("GET", f"/v1/jobs/{key}/events") as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        lines = list(stream.iter_lines())
    last = [line for line in lines if line.startswith("data: ")][-1]
    assert "event: end" in lines
    assert json.loads(last.removeprefix("data: "))["state"] == "done"
    assert json.loads(last.removeprefix("data: "))["scored"] == ["bleu_1", "bleu_2", "bleu_3", "bleu_4", "rouge_l"]


def test_a_job_can_be_cancelled(client: Any) -> None:
    many = {"candidates": [f"a man number {i} rides a bike" for i in range(2000)],
            "references": [["a person is riding a bicycle"]] * 2000,
            "metrics": ["spice_fast", "wmd", "bleu", "rouge_l"]}  # fmt: skip
    key = client.post("/v1/score", json=many, params={"wait": 0}).json()["id"]
    server = client.listening.app.state.server
    found = server.desk.find(key)
    assert client.delete(f"/v1/jobs/{key}").json()["state"] == "cancelled"
    assert client.get(f"/v1/jobs/{key}").status_code == 404
    until = time.monotonic() + 30
    while server.desk.waiting and time.monotonic() < until:
        time.sleep(0.05)
    assert server.desk.waiting == 0  # the work has ended too
    assert found.state == "cancelled"
    assert found.result is None


def test_too_long_is_told(client: Any) -> None:
    settings = Settings(limits=replace(LIMITS, seconds=0.0), warm=False)
    with served(settings) as hurried:
        answer = scored(hurried, CAPTIONS)
    assert answer.status_code == 422
    assert "seconds that a job may take" in answer.json()["error"]


def test_old_results_make_room(client: Any) -> None:
    settings = Settings(limits=replace(LIMITS, kept=2), warm=False)
    with served(settings) as small:
        keys = []
        for _ in range(4):
            keys.append(scored(small, CAPTIONS, wait=0).json()["id"])
            finished(small, keys[-1])
        found = [small.get(f"/v1/jobs/{key}").status_code for key in keys]
    assert found == [404, 404, 200, 200]


# What there is --------------------------------------------------------------------------------------------------------


def test_metrics_are_listed(client: Any) -> None:
    found = {each["name"]: each for each in client.get("/v1/metrics").json()}
    assert set(found) == set(capeval.registry.metric_classes())
    assert found["cider_d"]["parameters"]["df"] == "corpus"
    assert found["lece"]["needs"] == ["pictures"]


def test_health_and_counters(client: Any) -> None:
    assert client.get("/healthz").json()["status"] == "ok"
    scored(client, CAPTIONS)
    text = client.get("/metrics").text
    assert 'capeval_requests_total{status="200",what="score"}' in text
    assert "capeval_captions_total" in text
    assert 'capeval_jobs{state="done"}' in text


def test_the_openapi_document_names_every_address(client: Any) -> None:
    found = client.get("/v1/openapi.json").json()
    assert found["openapi"].startswith("3.1")
    described = {(path, method.upper()) for path, each in found["paths"].items() for method in each}
    from capeval.web.rest import ROUTES

    there = {(route.path, method) for route in ROUTES for method in (route.methods or ()) if method != "HEAD"}
    assert there - described == {("/v1/openapi.json", "GET")}
    assert described <= there
