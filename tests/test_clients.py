"""Programs written for pycocoevalcap and its kin run as they are, and their numbers are the official ones."""

from __future__ import annotations

import itertools
import json
import pickle
import runpy
import subprocess
import sys
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from capeval import compat
from capeval.errors import DataError, Unavailable
from capeval.text.paraphrase import find_table

CLIENTS = Path(__file__).resolve().parent / "clients"
OFFICIAL = {"Bleu_1": "bleu_1", "Bleu_2": "bleu_2", "Bleu_3": "bleu_3", "Bleu_4": "bleu_4"} | {
    "ROUGE_L": "rouge_l", "CIDEr": "cider_d",
}  # fmt: skip
Data = tuple[dict[int, list[str]], dict[int, str]]


@pytest.fixture
def client() -> Iterator[Callable[[str], Any]]:
    """Loads a client with ours in the place of the packages it was written for, and puts all back."""
    ours = ("pycocoevalcap", "pyciderevalcap")
    before = {name: module for name, module in sys.modules.items() if name.split(".")[0] in ours}

    for name in before:
        del sys.modules[name]

    def load(name: str) -> Any:
        compat.install()
        return runpy.run_path(str(CLIENTS / f"{name}.py"))

    yield load
    for name in [name for name in sys.modules if name.split(".")[0] in ours]:
        del sys.modules[name]
    sys.modules.update(before)


@pytest.fixture
def data(official_300: dict[str, Any]) -> Data:
    references = {int(key): texts for key, texts in official_300["references"].items()}
    return references, {int(key): text for key, text in official_300["candidates"].items()}


@pytest.fixture
def table() -> None:
    try:
        find_table()
    except Unavailable as problem:
        pytest.skip(str(problem))


@pytest.mark.parametrize("name", ["clipscore", "lmms_eval", "meshed_memory", "coco_example", "blip"])
def test_official_numbers(
    name: str, client: Any, data: Data, official_300: dict[str, Any], table: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name in ("lmms_eval", "coco_example", "blip"):
        pytest.importorskip("pycocotools.coco")
    # SPICE is tested by itself: it takes a while.
    monkeypatch.setattr(compat.COCOEvalCap, "scorers", compat.COCOEvalCap.scorers[:-1])
    options = {"with_spice": False} if name == "clipscore" else {}
    references, results = data
    if name == "meshed_memory":  # it joins words that are repeated, so there is no official number for captions that do
        results = {key: text for key, text in results.items() if not has_repeats(text)}
    found = {
        key.removeprefix("val_"): value for key, value in client(name)["scores"](references, results, **options).items()
    }
    if len(results) == len(data[1]):
        for theirs, ours in OFFICIAL.items():
            assert found[theirs] == pytest.approx(official_300["corpus"][ours], abs=1e-9)
    tokens = [
        compat.PTBTokenizer.tokenize(each) for each in ({i: references[i] for i in results}, list(results.values()))
    ]
    gts, res = tokens[0], dict(zip(tokens[0], tokens[1].values()))
    assert found["METEOR"] == pytest.approx(compat.compute_score(gts, res, "meteor")[0], abs=1e-12)
    assert found["CIDEr"] == pytest.approx(compat.compute_score(gts, res, "cider_d")[0], abs=1e-12)


def has_repeats(text: str) -> bool:
    words = text.split()
    return any(a == b for a, b in itertools.pairwise(words))


def test_vlmevalkit_gives_what_the_originals_give(client: Any, data: Data) -> None:
    """Its captions are not tokenised. The three scorers of the original are plain Python, and run here."""
    references, results = ({key: each[key] for key in list(each)[:60]} for each in data)
    program = (
        "import json, runpy, sys; run = runpy.run_path(sys.argv[1]); "
        "references, results = json.load(sys.stdin); print(json.dumps(run['scores'](references, results)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(CLIENTS / "vlmevalkit.py")],
        input=json.dumps([references, results]), capture_output=True, text=True, check=False,
    )  # fmt: skip
    if "No module named" in done.stderr:
        pytest.skip("pycocoevalcap is not installed")
    expected = json.loads(done.stdout.splitlines()[-1])
    found = client("vlmevalkit")["scores"](references, results)
    assert found == pytest.approx(expected, abs=1e-9)
    assert found["CIDEr"] > 0


def test_rewards(client: Any, data: Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    references, results = ({key: each[key] for key in list(each)[:20]} for each in data)
    monkeypatch.chdir(tmp_path)
    loaded = client("self_critical")
    of_batch = loaded["scores"](references, results)
    (tmp_path / "data").mkdir()
    counts = defaultdict(float, {(str(i),): float(3 + i % 5) for i in range(50)})
    pickled = {"document_frequency": counts, "ref_len": 1000}
    (tmp_path / "data" / "coco-train-idxs.p").write_bytes(pickle.dumps(pickled, 2))
    with pytest.raises(DataError, match=r"data/coco-train-idxs.p does not fit cider_d"):
        loaded["scores"](references, results)  # a table of single words is no table for four
    counts |= {(str(i), str(i + 1)): 2.0 for i in range(49)} | {("1", "2", "3"): 2.0, ("1", "2", "3", "4"): 2.0}
    counts |= {("2", "3", "4"): 2.0}
    (tmp_path / "data" / "coco-train-idxs.p").write_bytes(pickle.dumps(pickled, 2))
    from_table = loaded["scores"](references, results)
    # A caption that is one of the references is better than the greedy one.
    assert of_batch["reward"] > 0.5
    assert from_table["reward"] > 0.5
    assert from_table["reward"] != of_batch["reward"]


def test_the_reward_of_meshed_memory(client: Any, data: Data, table: None) -> None:
    """Documents are the single training captions there."""
    references, results = ({key: each[key] for key in list(each)[:30]} for each in data)
    found = client("meshed_memory")["scores"](references, results)
    documents = [
        [text] for text in compat.PTBTokenizer.tokenize([t for each in references.values() for t in each]).values()
    ]
    cider = compat.Cider(dict(enumerate(text for (text,) in documents)))
    gts = compat.PTBTokenizer.tokenize({i: references[i] for i in results})
    res = compat.PTBTokenizer.tokenize({i: [results[i]] for i in results})
    assert found["reward"] == pytest.approx(float(np.mean(cider.compute_score(gts, res)[1])), abs=1e-6)


def test_nlg_eval_with_one_row(client: Any, table: None) -> None:
    with pytest.warns(UserWarning, match="CIDEr over one image"):
        found = client("nlg_eval")["one"](["a dog runs", "the dog"], "a dog runs")
    assert found["Bleu_1"] == pytest.approx(1.0)
    assert found["CIDEr"] == 0.0
    assert found["METEOR"] == pytest.approx(1.0)


def test_a_metric_without_its_data_is_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def unavailable() -> Any:
        raise Unavailable("no grammar here")

    class Broken(compat.Spice):
        def compute_score(self, *arguments: Any, **options: Any) -> Any:
            unavailable()

    class Coco:
        def __init__(self, captions: dict[int, list[str]]) -> None:
            self.imgToAnns = {key: [{"caption": text} for text in texts] for key, texts in captions.items()}

        def getImgIds(self) -> list[int]:  # noqa: N802
            return list(self.imgToAnns)

    scorers = [(compat.Rouge, ["ROUGE_L"]), (Broken, ["SPICE"]), (compat.Cider, ["CIDEr"])]
    monkeypatch.setattr(compat.COCOEvalCap, "scorers", scorers)
    found = compat.COCOEvalCap(Coco({4: ["A dog."], 2: ["Two cats."]}), Coco({4: ["a dog"], 2: ["two birds"]}))
    with pytest.warns(UserWarning, match="SPICE is left out: no grammar here"):
        found.evaluate()
    assert found.eval == {"ROUGE_L": 0.75, "CIDEr": pytest.approx(found.eval["CIDEr"])}
    assert found.imgToEval[2]["ROUGE_L"] == 0.5
    assert [row["image_id"] for row in found.evalImgs] == [4, 2]
    assert "ROUGE_L: 0.750" in capsys.readouterr().out


def test_spice_alone_goes_to_the_right_image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The scorer sorts its images; those of the annotations may come in another order."""
    path = tmp_path / "parses.jsonl"
    path.write_text('{"caption": "a dog", "tuples": [["dog"]]}\n{"caption": "a cat", "tuples": [["cat"]]}\n')
    monkeypatch.setattr(compat.COCOEvalCapSpice, "scorers", [(lambda: compat.Spice(parses=str(path)), ["SPICE"])])

    class Coco:
        def __init__(self, captions: dict[int, str]) -> None:
            self.imgToAnns = {key: [{"caption": text}] for key, text in captions.items()}

        def getImgIds(self) -> list[int]:  # noqa: N802
            return list(self.imgToAnns)

    found = compat.COCOEvalCapSpice(Coco({9: "a dog", 3: "a cat"}), Coco({9: "a dog", 3: "a dog"}))
    found.evaluate()
    assert found.eval == {"SPICE": 0.5}
    assert {key: row["SPICE"]["All"]["f"] for key, row in found.imgToEval.items()} == {9: 1.0, 3: 0.0}


# --- no import changed at all ---


def test_a_program_runs_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("CAPTION = 'a dog runs'\n")
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\nimport pycocoevalcap.rouge.rouge as rouge\nfrom pyciderevalcap.ciderD.ciderD import CiderD\n"
        "from pycocoevalcap.eval import COCOEvalCap\nfrom beside import CAPTION\n"
        "if __name__ == '__main__':\n"
        "    print(rouge.Rouge().compute_score({1: [CAPTION]}, {1: ['a dog']})[0], CiderD.__module__, sys.argv[1:])\n"
    )
    command = [sys.executable, "-m", "capeval.compat", "run", str(script), "--x", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.split(maxsplit=1)[1] == "capeval.compat.cider ['--x', '1']\n"
    assert float(done.stdout.split()[0]) == pytest.approx(2.44 * 2 / 3 / (2 / 3 + 1.44))
    wrong = subprocess.run([*command[:-3], "none.py"], capture_output=True, text=True, check=False)
    assert (wrong.returncode, wrong.stderr) == (2, "none.py: there is no such file\n")


def test_installed_modules_do_not_hide_the_paraphrase_table(client: Any, table: None) -> None:
    before = find_table()
    client("nlg_eval")
    assert sys.modules["pycocoevalcap"].__doc__.startswith("capeval in the place")
    assert find_table() == before


def test_a_copy_inside_a_project_is_ours_too() -> None:
    """As in nlg-eval, whose own package is real."""
    program = (
        "import sys, types; sys.modules['project'] = package = types.ModuleType('project'); package.__path__ = []\n"
        "from capeval import compat; compat.install('project.pycocoevalcap')\n"
        "from project.pycocoevalcap.bleu.bleu import Bleu\nimport project.pycocoevalcap.spice.spice as spice\n"
        "assert Bleu is compat.Bleu; assert spice.Spice is compat.Spice\n"
        "from pycocoevalcap.rouge.rouge import Rouge; assert Rouge is compat.Rouge"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_what_is_not_there_says_so(client: Any) -> None:
    client("nlg_eval")
    with pytest.raises(ModuleNotFoundError), warnings.catch_warnings():
        __import__("pycocoevalcap.bleu.bleu_scorer")
