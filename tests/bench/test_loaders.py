"""Loaders on tiny files in the published layouts, and the command line."""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from capeval.bench import Pairs, Ratings, Settings, Systems, benchmarks, load, run
from capeval.bench.matfile import read_mat
from capeval.cli import cli
from capeval.errors import CapevalError, DataError, Unavailable, UnknownName
from capeval.io.scores import read_scores
from capeval.report import report
from capeval.run import Run
from capeval.types import Array, Dataset

QUICK = Settings(resamples=20)


def write(root: Path, name: str, content: str | bytes | Any) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if not isinstance(content, str | bytes):
        content = json.dumps(content)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


# MATLAB files, written as "MAT-File Format" says.


def element(kind: int, body: bytes) -> bytes:
    if 0 < len(body) <= 4:  # the short form
        return struct.pack("<HH", kind, len(body)) + body.ljust(4, b"\0")
    return struct.pack("<II", kind, len(body)) + body + b"\0" * (-len(body) % 8)


def matrix(value: Any, name: str = "") -> bytes:
    if isinstance(value, str):
        sort, shape, parts = 4, (1, len(value)), [element(4, value.encode("utf-16-le"))]
    elif isinstance(value, list):
        sort, shape, parts = 1, (1, len(value)), [matrix(each) for each in value]
    elif isinstance(value, dict):
        return structs([value], name)
    else:
        sort, shape = 6, value.shape
        parts = [element(9, value.astype("<f8").tobytes(order="F"))]
    return packed(sort, shape, name, parts)


def structs(values: list[dict[str, Any]], name: str) -> bytes:
    keys = b"".join(key.encode().ljust(8, b"\0") for key in values[0])
    parts = [element(5, struct.pack("<i", 8)), element(1, keys)]
    return packed(2, (1, len(values)), name, parts + [matrix(each) for value in values for each in value.values()])


def packed(sort: int, shape: tuple[int, ...], name: str, parts: list[bytes]) -> bytes:
    head = [element(6, struct.pack("<II", sort, 0)), element(5, struct.pack("<ii", *shape)), element(1, name.encode())]
    return element(14, b"".join(head + parts))


def mat_file(*variables: bytes) -> bytes:
    body = b""
    for variable in variables:
        squeezed = zlib.compress(variable)
        body += struct.pack("<II", 15, len(squeezed)) + squeezed
    return b"MATLAB 5.0 MAT-file".ljust(124, b" ") + b"\x00\x01IM" + body


def test_matlab_files(tmp_path: Path) -> None:
    numbers = np.arange(6.0).reshape(2, 3)
    content = mat_file(
        matrix(numbers, "n"), matrix(["ab", "caf\u00e9", ""], "cell"), structs([{"a": "x", "b": numbers}], "s")
    )
    write(tmp_path, "x.mat", content)
    found = read_mat(tmp_path / "x.mat")
    np.testing.assert_array_equal(found["n"], numbers)
    assert found["cell"].tolist() == [["ab", "caf\u00e9", ""]]
    assert found["s"][0, 0]["a"] == "x"
    np.testing.assert_array_equal(found["s"][0, 0]["b"], numbers)


@pytest.mark.parametrize(
    "damage", [lambda d: d[:60], lambda d: d[:-9], lambda d: d[:140] + b"\0" * 20, lambda d: b"x" * 300]
)
def test_damaged_matlab_files(tmp_path: Path, damage: Any) -> None:
    write(tmp_path, "x.mat", damage(mat_file(matrix(["some text", "more text"], "cell"))))
    with pytest.raises(DataError, match=r"x\.mat"):
        read_mat(tmp_path / "x.mat")


# The benchmarks.


@pytest.fixture
def root(judgements: Path, tmp_path: Path) -> Path:
    """A small part of everything, in the published layouts."""
    captions = {"a.jpg": "a dog runs", "b.jpg": "a cat sleeps", "c.jpg": "two birds fly"}
    captions["d.jpg"] = "a man sits on the beach"
    write(tmp_path, "flickr8k/Flickr_8k.testImages.txt", "d.jpg\n")
    lines = [f"{image}#{i}\t{text} {i} ." for image, text in captions.items() for i in range(5)]
    write(tmp_path, "flickr8k/Flickr8k.token.txt", "\n".join(lines) + "\n")
    pairs = [
        ("a.jpg", "a.jpg#0"),
        ("a.jpg", "b.jpg#1"),
        ("b.jpg", "c.jpg#2"),
        ("c.jpg", "a.jpg#3"),
        ("b.jpg", "a.jpg#4"),
    ]
    grades = ["4\t4\t4", "1\t2\t1", "1\t1\t1", "2\t2\t3", "1\t3\t1"]
    expert = [f"{image}\t{name}\t{grade}" for (image, name), grade in zip(pairs, grades)]
    write(tmp_path, "flickr8k/ExpertAnnotations.txt", "\n".join(expert))
    crowd = [f"{image}\t{name}\t0.3\t{i}\t{3 - i % 3}" for i, (image, name) in enumerate(pairs)]
    write(tmp_path, "flickr8k/CrowdFlowerAnnotations.txt", "\n".join(crowd) + "\n")
    texts = [("a dog runs .", 5), ("a bird", 1), ("a cat sleeps", 4), ("no idea", 2)]
    rows = [
        {"source": "8k", "row": i, "image": "xy"[i // 2], "caption": text, "rating": rating}
        for i, (text, rating) in enumerate(texts)
    ]
    write(tmp_path, "composite/composite.json", rows)
    references = {"8k/x": ["A dog runs.", "The dog is running."], "8k/y": ["A cat is asleep.", "A cat."]}
    write(tmp_path, "composite/references.json", references)
    write_pascal(tmp_path)
    images = ["s1.png", "s2.png"]
    write(
        tmp_path,
        "abstract50s/abstract48S.json",
        [{"image_id": i, "caption": f"{i} {n}"} for i in images for n in (1, 2)],
    )
    write(tmp_path, "abstract50s/abstract_candsB.json", [{"image_id": i, "caption": f"{i} 1"} for i in images])
    write(tmp_path, "abstract50s/abstract_candsC.json", [{"image_id": i, "caption": "nothing"} for i in images])
    kinds = [{"pair": 0, "type": "HC", "winner": None}, {"pair": 1, "type": "HI", "winner": "B"}]
    write(tmp_path, "abstract50s/DERIVED_pair_types_and_HI_winner.json", kinds)
    names = ["Human", "Tsinghua Bigeye", "MSR", "Google", "Random"]
    people = [
        {"team": {"id": i, "name": name}, "results": json.dumps({f"q{q}": 1 / (i + q) for q in range(1, 6)})}
        for i, name in enumerate(names)
    ]
    write(tmp_path, "coco/cap_challenge2015.json", people)
    scores = ["CIDEr", "METEOR", "ROUGE_L", "SPICE", "Bleu_1", "Bleu_2", "Bleu_3", "Bleu_4"]
    board = [
        {"team": {"id": i, "name": name}, "results": json.dumps(dict.fromkeys(scores, (i * 7) % 5))}
        for i, name in [(0, "Human"), (9, "TsinghuaBigeye"), (2, "MSR"), (3, "Google")]
    ]
    for name in ("cap_c5", "cap_c40"):
        write(tmp_path, f"coco/{name}.json", board)
    return tmp_path


def write_pascal(root: Path) -> None:
    sentences = [("a ship", "a tram"), ("a boat", "a hat"), ("a mast", "a wall"), ("red sea", "a sail")]
    inputs = [{"name": "p.jpg", "sent1": a, "sent2": b} for a, b in sentences]
    votes = [{"result": np.array([[1.0, 1, -1]])}, {"result": np.array([[-1.0, -1, 1]])}] * 2
    category = matrix(np.array([[1.0, 2, 3, 4]]), "category")
    write(root, "pascal50s/pair_pascal.mat", mat_file(structs(inputs, "new_input"), category, structs(votes, "result")))
    references = [f"a ship number {i}" for i in range(9)]
    write(root, "pascal50s/pascal50S.mat", mat_file(structs([{"image": "p.jpg", "sent": references}], "refs")))
    draw = {"image": "VOC/p.jpg", "label": 1, "references": references[:5]}
    names = ("HI", "HC", "HM", "MM")
    write(root, "pascal50s/pairs_5refs.json", {name: [draw | {"captions": ["a ship", "a tram"]}] for name in names})


def test_flickr8k_expert(root: Path) -> None:
    found = load("flickr8k-expert", root)
    assert isinstance(found, Ratings)
    # The first candidate is a caption of its own image.
    assert found.dataset.ids == ["a.jpg/b.jpg#1", "b.jpg/c.jpg#2", "c.jpg/a.jpg#3", "b.jpg/a.jpg#4"]
    assert found.dataset[0].candidate == "a cat sleeps 1 ."
    assert found.dataset[0].references == tuple(f"a dog runs {i} ." for i in range(5))
    assert len(found.dataset.reference_sets) == 4  # one for each row, though two rows share an image
    np.testing.assert_array_equal(found.human[0], [1, 2, 1])


def test_flickr8k_cf(root: Path) -> None:
    published, strict, kept = (load("flickr8k-cf", root, variant) for variant in ("published", "strict", "kept"))
    assert isinstance(published, Ratings)
    assert isinstance(strict, Ratings)
    assert isinstance(kept, Ratings)
    np.testing.assert_allclose(strict.human[:, 0], [1 / 3, 2 / 3, 3 / 6, 4 / 6])
    assert strict.main == "kendall_b"
    assert published.dataset.ids == kept.dataset.ids == ["a.jpg/a.jpg#0", *strict.dataset.ids]
    assert kept.dataset[0].references == tuple(f"a dog runs {i} ." for i in range(1, 5))
    assert kept.dataset[1].references == strict.dataset[0].references
    # The first caption was judged with its own image: it is no reference of any caption of that image.
    assert published.dataset[1].references == published.dataset[0].references == kept.dataset[0].references
    assert published.dataset[2].references == kept.dataset[2].references


def test_a_judged_caption_takes_one_reference_of_its_text_away(root: Path) -> None:
    texts = {"a.jpg": ["a dog .", "a dog .", "no idea ."], "b.jpg": ["a dog .", "a cat ."]}
    lines = [f"{image}#{i}\t{text}" for image, some in texts.items() for i, text in enumerate(some)]
    write(root, "flickr8k/Flickr8k.token.txt", "\n".join(lines))
    # The second caption was written for the other image, in the words of one of this image's own.
    write(root, "flickr8k/CrowdFlowerAnnotations.txt", "a.jpg\ta.jpg#1\t1\t3\t0\nb.jpg\ta.jpg#0\t1\t3\t0\n")
    found = load("flickr8k-cf", root)
    assert isinstance(found, Ratings)
    assert [row.references for row in found.dataset] == [("a dog .", "no idea ."), ("a cat .",)]


def test_composite(root: Path) -> None:
    published, strict, kept = (load("composite", root, variant) for variant in ("published", "strict", "kept"))
    assert isinstance(published, Ratings)
    assert isinstance(strict, Ratings)
    assert isinstance(kept, Ratings)
    assert kept.dataset[0].references == ("A dog runs.", "The dog is running.")
    assert strict.dataset[0].references == ("The dog is running.",)
    assert strict.dataset[1].references == kept.dataset[1].references
    assert published.dataset[1].references == published.dataset[0].references == ("The dog is running.",)
    assert published.dataset[2].references == kept.dataset[2].references
    assert published.dataset.ids == strict.dataset.ids == ["8k/0", "8k/1", "8k/2", "8k/3"]


def test_composite_compares_letters(root: Path) -> None:
    row = {"source": "8k", "row": 0, "image": "x", "caption": "a starbuck s t shirt", "rating": 5}
    write(root, "composite/composite.json", [row])
    write(root, "composite/references.json", {"8k/x": ["A Starbuck 's T-shirt .", "A Starbucks cup."]})
    for variant in ("published", "strict"):
        found = load("composite", root, variant)
        assert isinstance(found, Ratings)
        assert found.dataset[0].references == ("A Starbucks cup.",)


def test_pascal50s(root: Path) -> None:
    found = load("pascal-50s", root)
    assert isinstance(found, Pairs)
    assert found.ids == ["HC-1", "HI-1", "HM-1", "MM-1"]
    assert found.first_wins.tolist() == [True, False, True, False]
    assert len(found.references[0]) == 9
    labels = load("pascal-50s", root, "labels")
    assert isinstance(labels, Pairs)
    assert labels.ids == found.ids
    assert not labels.first_wins.any()
    assert labels.images == ["p.jpg"] * 4


def test_abstract50s_needs_votes_for_two_correct_captions(root: Path) -> None:
    found = load("abstract-50s", root)
    assert isinstance(found, Pairs)
    assert found.ids == ["HI-1"]
    write(root, "abstract50s/abstract_votes.json", [-1, 1])
    found = load("abstract-50s", root)
    assert isinstance(found, Pairs)
    assert found.ids == ["HC-0", "HI-1"]
    assert found.first_wins.tolist() == [False, True]
    for votes in ([-1], [0, 1], ["1", "-1"], [True, -1]):
        write(root, "abstract50s/abstract_votes.json", votes)
        with pytest.raises(DataError, match="a list of 2 numbers, each 1 or -1"):
            load("abstract-50s", root)


def test_coco2015(root: Path) -> None:
    found = load("coco-2015", root)
    assert isinstance(found, Systems)
    np.testing.assert_array_equal(found.scores["spice(c5)"], [0, np.nan, 4, 1, np.nan])
    by_name = load("coco-2015", root, "name")
    assert isinstance(by_name, Systems)
    np.testing.assert_array_equal(by_name.scores["spice(c5)"], [0, 3, 4, 1, np.nan])


@pytest.mark.parametrize("name", sorted(benchmarks()))
def test_missing_files_are_named_with_their_source(name: str, tmp_path: Path) -> None:
    with pytest.raises(DataError) as problem:
        load(name, tmp_path)
    wanted = benchmarks()[name]
    assert all(source.path in str(problem.value) for source in wanted.needed(wanted.variants[0]))
    assert wanted.published in str(problem.value)
    assert str(tmp_path) in str(problem.value)


@pytest.mark.parametrize("name", sorted(benchmarks()))
def test_a_changed_file_is_told(name: str, root: Path, notes: Any) -> None:
    load(name, root, run=Run(progress=notes))
    assert len(notes.messages) == len(benchmarks()[name].needed(benchmarks()[name].variants[0]))
    assert "checksum" in notes.messages[0]


@pytest.mark.parametrize(
    ("name", "file", "content"),
    [
        ("flickr8k-expert", "flickr8k/ExpertAnnotations.txt", "a.jpg\tb.jpg#1\t1\t2"),
        ("flickr8k-expert", "flickr8k/ExpertAnnotations.txt", "a.jpg\tb.jpg#1\t1\t2\tx"),
        ("flickr8k-expert", "flickr8k/ExpertAnnotations.txt", "a.jpg\tz.jpg#1\t1\t2\t3"),
        ("composite", "composite/composite.json", "[{}]"),
        ("composite", "composite/composite.json", "{"),
        ("composite", "composite/references.json", "{}"),
        ("pascal-50s", "pascal50s/pascal50S.mat", mat_file(matrix("text", "refs"))),
        ("abstract-50s", "abstract50s/abstract_candsC.json", "[]"),
        ("coco-2015", "coco/cap_c5.json", '[{"team": {}, "results": "x"}]'),
    ],
)
def test_wrong_files_are_told(name: str, file: str, content: str | bytes, root: Path) -> None:
    write(root, file, content)
    with pytest.raises(DataError):
        load(name, root)


def test_unknown_names() -> None:
    with pytest.raises(UnknownName, match="flickr8k-expert"):
        load("flickr8k-exprt")
    with pytest.raises(UnknownName, match="strict"):
        load("composite", variant="strickt")


# Running them.


def length(dataset: Dataset) -> Array:
    return np.array([len(text) for text in dataset.candidates], float)


def test_a_function_is_a_metric(root: Path) -> None:
    found = run("flickr8k-expert", length, data=root, settings=QUICK).to_dict()
    assert [row["metric"] for row in found["metrics"]] == ["length"]
    assert found["rows"] == found["metrics"][0]["rows"] == 12


def test_a_function_must_score_every_row(root: Path) -> None:
    with pytest.raises(CapevalError, match="one finite score"):
        run("flickr8k-expert", [lambda dataset: [1.0]], data=root, settings=QUICK)


def test_wrong_metrics_are_told(root: Path) -> None:
    for metrics, message in (
        ([], "no metric was asked for"),
        ([3], "not 3"),
        ([lambda dataset: ["high"] * len(dataset)], "one finite score"),
        ([length, length], "two metrics are called 'length'"),
    ):
        with pytest.raises(CapevalError, match=message):
            run("flickr8k-expert", metrics, data=root, settings=QUICK)  # type: ignore[arg-type]


def test_a_function_does_not_take_the_name_of_a_metric(root: Path) -> None:
    def bleu_1(dataset: Dataset) -> Array:
        return length(dataset)

    with pytest.raises(CapevalError, match="two metrics are called 'bleu_1'"):
        run("flickr8k-expert", ["bleu_1", bleu_1], data=root, settings=QUICK)


def test_settings_of_another_kind_of_benchmark_are_told(root: Path, notes: Any) -> None:
    run("flickr8k-expert", length, data=root, settings=Settings(resamples=20, counts=(1,)), run=Run(progress=notes))
    assert "not used by this kind of benchmark: counts" in notes.messages
    run("abstract-50s", length, data=root, settings=Settings(resamples=20, combine=2), run=Run(progress=notes))
    assert "not used by this kind of benchmark: combine" in notes.messages


def test_features_are_there_to_look_at(root: Path) -> None:
    def first(dataset: Dataset) -> Array:
        assert dataset.features is not None
        return dataset.features.vectors(dataset.images)[:, 0].astype(float)

    np.savez(root / "f.npz", ids=["a", "b", "c"], vectors=np.arange(6, dtype=np.float32).reshape(3, 2))
    found = run("flickr8k-expert", first, data=root, features=root / "f.npz", settings=QUICK)
    assert found.parts[0].scores["first"].tolist() == [0, 2, 4, 2]
    assert found.to_dict()["pictures"] == 3
    done = call("run", "flickr8k-expert", "-m", "bleu_1", "--data", root, "--features", root / "f.npz")
    assert done.exit_code == 0
    both = call("run", "flickr8k-expert", "--images", root, "--features", root / "f.npz")
    assert both.exit_code == 2


def test_all_metrics_on_the_rows_that_have_a_picture(root: Path) -> None:
    np.savez(root / "f.npz", ids=["a", "b"], vectors=np.ones((2, 2), np.float32))
    seen: list[list[str]] = []

    def looks(dataset: Dataset) -> Array:
        seen.append(dataset.images)
        return length(dataset)

    whole = run("flickr8k-expert", looks, data=root, features=root / "f.npz", settings=QUICK).to_dict()
    some = run("flickr8k-expert", looks, data=root, features=root / "f.npz", pictured=True, settings=QUICK).to_dict()
    assert seen == [["a.jpg", "b.jpg", "c.jpg", "b.jpg"], ["a.jpg", "b.jpg", "b.jpg"]]
    assert (whole["rows"], some["rows"]) == (12, 9)
    assert (whole["pictures"], some["pictures"]) == (2, 2)
    assert (whole.get("pictured"), some["pictured"]) == (None, True)
    assert "Only rows whose picture is there" in str(report(some).sections[0])
    done = call("run", "flickr8k-expert", "-m", "bleu_1", "--data", root, "--features", root / "f.npz", "--pictured",
                "--format", "json")  # fmt: skip
    assert json.loads(done.stdout)["metrics"][0]["rows"] == 9
    alone = call("run", "flickr8k-expert", "-m", "bleu_1", "--data", root, "--pictured")
    assert alone.exit_code == 2
    assert "--pictured goes with" in alone.stderr
    with pytest.raises(CapevalError, match="are needed"):
        run("flickr8k-expert", looks, data=root, pictured=True)
    np.savez(root / "f.npz", ids=["z"], vectors=np.ones((1, 2), np.float32))
    with pytest.raises(Unavailable, match="none of the images"):
        run("flickr8k-expert", looks, data=root, features=root / "f.npz", pictured=True)


def test_one_name_does_not_stand_for_two_metrics(root: Path) -> None:
    ids = load_ids(root)
    write(root, "s.csv", "id,bleu_1\n" + "".join(f"{each},1\n" for each in ids))
    with pytest.raises(DataError, match=r"s\.csv: scores from a file have the name of others: bleu_1"):
        run("flickr8k-expert", "bleu_1", scores=[root / "s.csv"], data=root, settings=QUICK)


def test_metrics_without_common_rows_are_not_compared(root: Path, notes: Any) -> None:
    rows = [f"{each},{'' if i % 2 else i},{i if i % 2 else ''}\n" for i, each in enumerate(load_ids(root))]
    write(root, "s.csv", "id,x,y\n" + "".join(rows))
    settings = Settings(resamples=20, combine=2)
    found = run(
        "flickr8k-expert", scores=[root / "s.csv"], data=root, settings=settings, run=Run(progress=notes)
    ).to_dict()
    assert [row["rows"] for row in found["metrics"]] == [6, 6]
    assert [each.keys() for each in found["comparisons"]] == [{"statistic", "names", "papers", "resamples"}]
    assert "not compared" in notes.messages[-1]
    assert found["analysis"][0]["signatures"] == {"x": "x|file:s.csv", "y": "y|file:s.csv"}


def load_ids(root: Path) -> list[str]:
    ratings = load("flickr8k-expert", root)
    assert isinstance(ratings, Ratings)
    return ratings.dataset.ids


def test_what_a_metric_was_trained_on_is_told(root: Path) -> None:
    def learned(dataset: Dataset) -> Array:
        return length(dataset)

    learned.trained_on = ("images:flickr8k-test", "images:elsewhere")  # type: ignore[attr-defined]
    message = "no test of metrics that have seen it: learned was trained on images:flickr8k-test.*allow_seen"
    with pytest.raises(CapevalError, match=message):
        run("flickr8k-expert", [learned, "bleu_1"], data=root, settings=QUICK)
    found = run("flickr8k-expert", [learned, "bleu_1"], data=root, settings=QUICK, allow_seen=True).to_dict()
    assert {row["metric"]: row.get("seen") for row in found["metrics"]} == {
        "learned": ["images:flickr8k-test"],
        "bleu_1": None,
    }
    learned.trained_on = ("flickr8k-cf",)  # type: ignore[attr-defined]
    with pytest.raises(CapevalError, match="learned was trained on flickr8k-cf"):
        run("flickr8k-cf", learned, data=root, settings=QUICK)
    assert run("flickr8k-expert", learned, data=root, settings=QUICK).seen == {}


def call(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli, ["bench", *map(str, arguments)])


def test_list(root: Path) -> None:
    shown = call("list", "--data", root)
    assert shown.exit_code == 0
    assert "flickr8k-expert" in shown.stdout
    assert "missing" not in shown.stdout
    described = json.loads(call("list", "--data", root / "nowhere", "--format", "json").stdout)
    assert all(each["missing"] and each["citation"] and each["licence"] for each in described)
    assert all(list(each["papers"]) == (each["variants"] or [""]) for each in described)
    pascal = next(each for each in described if each["benchmark"] == "pascal-50s")
    assert pascal["default_variants"] == ["votes", "labels"]
    assert not set(pascal["papers"]["votes"]) & set(pascal["papers"]["labels"])


ESTIMATE = {"value", "low", "high"}


@pytest.mark.parametrize("name", ["flickr8k-expert", "flickr8k-cf"])
def test_run_ratings(name: str, root: Path) -> None:
    done = call("run", name, "-m", "bleu_1", "-m", "rouge_l", "--data", root, "--format", "json", "--resamples", 20)
    found = json.loads(done.stdout)
    assert found["benchmark"] == name
    assert [row["metric"] for row in found["metrics"]] == ["bleu_1", "rouge_l"]
    for row in found["metrics"]:
        assert row["rows"] == found["rows"]
        assert all(row[key].keys() >= ESTIMATE for key in ("kendall_c", "kendall_b", "spearman", "pearson"))


def test_the_result_is_kept_as_json(root: Path) -> None:
    asked = ("run", "flickr8k-expert", "-m", "bleu_1", "--data", root, "--resamples", 20, "--json", root / "kept.json")
    table = call(*asked)
    assert "bleu_1" in table.stdout
    printed = json.loads(call(*asked, "--format", "json").stdout)
    kept = json.loads((root / "kept.json").read_text())
    assert kept.keys() == printed.keys()
    assert kept["metrics"] == printed["metrics"]


def test_run_composite_in_several_ways(root: Path) -> None:
    asked = ("run", "composite", "-m", "rouge_l", "--data", root, "--resamples", 20)
    found = json.loads(call(*asked, "--format", "json").stdout)
    assert [row["references"] for row in found["metrics"]] == ["published"]
    several = call(*asked, "--variant", "kept", "--variant", "strict")
    assert several.exit_code == 0
    assert [name in several.stdout for name in ("published", "strict", "kept")] == [False, True, True]
    assert "strict: made as in the tables of TIGEr" in several.stderr
    assert "kept: made" not in several.stderr


def test_run_pairs(root: Path) -> None:
    done = call("run", "pascal-50s", "-m", "rouge_l", "--data", root, "--format", "json", "--counts", "1,9")
    found = json.loads(done.stdout)
    votes, labels = found["metrics"]
    assert (votes["winners"], labels["winners"]) == ("votes", "labels")
    assert all(row[key].keys() >= ESTIMATE for row in (votes, labels) for key in ("hc", "hi", "hm", "mm", "mean"))
    assert (votes["hc"]["value"], labels["hc"]["value"]) == (100, 0)
    assert [each["draws"] for each in found["comparisons"]] == [5, 1]
    # The labels come with five references, so there are no nine to draw.
    assert [each["by_references"]["counts"] for each in found["comparisons"]] == [[1, 9], [1]]
    assert "TIGEr (Jiang et al. 2019)" in found["comparisons"][0]["papers"]
    assert "PAC-S (Sarto et al. 2023)" in found["comparisons"][1]["papers"]


def test_run_systems(root: Path) -> None:
    found = json.loads(call("run", "coco-2015", "--data", root, "--format", "json", "--resamples", 20).stdout)
    assert found["metrics"][0]["rows"] == 3
    assert found["metrics"][0]["m1"]["pearson"].keys() >= ESTIMATE
    assert call("run", "coco-2015", "--data", root).exit_code == 0
    assert call("run", "coco-2015", "--data", root, "-m", "bleu_1").exit_code == 1


def test_scores_from_elsewhere(root: Path) -> None:
    shown = call("rows", "flickr8k-expert", "--data", root)
    rows = [json.loads(line) for line in shown.stdout.splitlines()]
    assert len(rows[0]["references"]) == 5
    lines = ["id,judge,other"] + [f"{row['id']},{len(row['candidate'])},1" for row in rows[::-1]]
    write(root, "scores.csv", "\n".join(lines))
    done = call("run", "flickr8k-expert", "--scores", root / "scores.csv", "--data", root, "--format", "json")
    found = json.loads(done.stdout)
    assert [row["metric"] for row in found["metrics"]] == ["judge", "other"]
    assert found["metrics"][1]["kendall_b"]["value"] is None  # it does not vary
    same = run("flickr8k-expert", length, data=root, settings=QUICK).to_dict()
    assert found["metrics"][0]["kendall_c"]["value"] == same["metrics"][0]["kendall_c"]["value"]


def test_rows_with_a_score_added_come_back(root: Path) -> None:
    shown = call("rows", "flickr8k-expert", "--data", root)
    rows = [json.loads(line) | {"mine": i} for i, line in enumerate(shown.stdout.splitlines())]
    write(root, "mine.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    done = call("run", "flickr8k-expert", "--scores", root / "mine.jsonl", "--data", root, "--format", "json")
    assert [row["metric"] for row in json.loads(done.stdout)["metrics"]] == ["mine"]
    twice = call("rows", "composite", "--variant", "strict", "--variant", "kept", "--data", root)
    assert twice.exit_code == 2


def test_long_cells(tmp_path: Path) -> None:
    write(tmp_path, "s.csv", f"id,candidate, m\n1,{'x' * 200_000},0.5\n")
    assert read_scores(tmp_path / "s.csv", ["1"])["m"].tolist() == [0.5]


def test_score_files(tmp_path: Path) -> None:
    write(tmp_path, "s.jsonl", '{"id": 1, "scores": {"m": 0.5}}\n\n{"id": "2", "m": null}\n{"id": "9", "m": 3}\n')
    np.testing.assert_array_equal(read_scores(tmp_path / "s.jsonl", ["2", "1"])["m"], [np.nan, 0.5])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("s.csv", "id,m\n1,1\n1,2\n", "line 3: the same id twice"),
        ("s.csv", "id,m\n1,1\n", "1 of 2 rows have no score"),
        ("s.csv", "id,m\n1,x\n2,1\n", "line 2: m is 'x', not a number"),
        ("s.csv", "id,m\n1,inf\n2,1\n", "infinite"),
        ("s.csv", "name,m\n1,1\n", "column `id`"),
        ("s.csv", "id,m\n1\n", "cells"),
        ("s.csv", "id,m,m\n1,1,1\n", "no name, or two have the same"),
        ("s.csv", "id,\n1,1\n", "no name, or two have the same"),
        ("s.jsonl", '{"id": 1, "m": true}\n', "m is True, not a number"),
        ("s.jsonl", '{"id": 1, "m": 1%s}\n' % ("0" * 400), r"m is 10{40,70}\.\.\., not a number"),
        ("s.csv", "id\n1\n2\n", "no column of scores"),
        ("s.jsonl", "{\n", "line 1: broken JSON"),
        ("s.jsonl", "[]\n", "an object with an `id`"),
        ("s.json", "{}", "CSV, TSV or JSONL"),
    ],
)
def test_wrong_score_files_are_told(tmp_path: Path, name: str, content: str, message: str) -> None:
    write(tmp_path, name, content)
    with pytest.raises(DataError, match=message):
        read_scores(tmp_path / name, ["1", "2"])
