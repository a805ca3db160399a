"""Shards on a Ray cluster of two nodes: the files of the local runner, also when a node is lost. `make test-ray`."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import stream_maker as maker

from capeval.stream.job import score_shards
from capeval.stream.local import Local
from capeval.stream.work import Job

ray = pytest.importorskip("ray")
pytest.importorskip("ray.data")
pytestmark = pytest.mark.filterwarnings("ignore")  # of Ray's own


class Nodes:
    def __init__(self, cluster: Any) -> None:
        self.cluster = cluster
        self.workers = [self.add(), self.add()]

    def add(self) -> Any:
        return self.cluster.add_node(num_cpus=1, object_store_memory=80 << 20)

    def kill_one(self) -> None:
        self.cluster.remove_node(self.workers.pop(0), allow_graceful=False)


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    """A head that works on nothing, and two nodes of one core."""
    from ray.cluster_utils import Cluster

    head = {"num_cpus": 0, "object_store_memory": 80 << 20, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    try:
        found = Nodes(cluster)
        ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
        yield found
    finally:
        with contextlib.suppress(Exception):
            ray.shutdown()
        cluster.shutdown()


@pytest.fixture
def shards(tmp_path: Path) -> list[str]:
    rows = maker.made_rows(240, images=100)
    rows[5]["caption"] = None
    return maker.write_shards(tmp_path / "in", rows, 6)


def test_an_address_where_no_cluster_is(shards: list[str], tmp_path: Path) -> None:
    """By the command, since Ray begins but once in a process."""
    line = [sys.executable, "-m", "capeval", "score", *shards, "-m", "rouge_l", "-o", str(tmp_path / "out")]
    done = subprocess.run([*line, "--runner", "ray", "--address", "nonsense"], capture_output=True, text=True)
    assert done.returncode == 1
    assert "Error: there is no Ray cluster at nonsense: " in done.stderr
    assert done.stderr.rstrip().endswith("`ray status` there tells whether one runs")


def test_the_files_are_those_of_the_local_runner(nodes: Nodes, shards: list[str], tmp_path: Path) -> None:
    """With document frequencies of all shards, which actors get from the object store; a row that fails fails alone."""
    from capeval.stream.rayrunner import RayRunner

    here = score_shards(shards, Job(("rouge_l", "cider_d"), str(tmp_path / "here")), Local(1))
    there = score_shards(shards, Job(("rouge_l", "cider_d"), str(tmp_path / "there")), RayRunner())
    assert there.document == here.document
    assert there.manifest["rows"]["failed"] == 1
    assert maker.contents(tmp_path / "there") == maker.contents(tmp_path / "here")


def test_a_node_that_is_lost_in_mid_run_changes_nothing(nodes: Nodes, shards: list[str], tmp_path: Path) -> None:
    from capeval.stream.rayrunner import RayRunner

    class Losing(RayRunner):
        def run(self, *arguments: Any) -> Iterator[Any]:
            for done, each in enumerate(super().run(*arguments)):
                if done == 1:
                    nodes.kill_one()
                yield each

    job = {"metrics": ("rouge_l", "bleu_4")}
    score_shards(shards, Job(output=str(tmp_path / "here"), **job), Local(1))
    score_shards(shards, Job(output=str(tmp_path / "there"), **job), Losing())
    assert len(nodes.workers) == 1
    nodes.workers.append(nodes.add())
    assert maker.contents(tmp_path / "there") == maker.contents(tmp_path / "here")


def test_batches_in_a_map_of_ray_data(nodes: Nodes, tmp_path: Path) -> None:
    from capeval.stream import BatchScorer

    rows = maker.made_rows(40)
    found = ray.data.from_items(rows).map_batches(
        BatchScorer,
        fn_constructor_args=("rouge_l",),
        batch_format="pyarrow",
        compute=ray.data.ActorPoolStrategy(size=1),
    )
    assert all(row["rouge_l"] is not None for row in found.take_all())
