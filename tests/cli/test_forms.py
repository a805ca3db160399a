"""Every caption file people have, in one command each: what the command gives is what the captions by id give."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import capeval
from capeval.cli import cli

# Three images with two references each.
CAPTIONS = ["a dog running on the beach", "a lady is making food", "cars on a street"]
REFERENCES = [
    ["a dog runs along the beach", "a dog at the sea, running"],
    ["a woman cooks in a kitchen", "a lady makes food"],
    ["two cars on a street", "cars are parked"],
]


def table(header: str, rows: Sequence[Sequence[Any]], delimiter: str = ",") -> str:
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows([header.split(","), *rows])
    return text.getvalue()


def rows(names: Sequence[str]) -> list[tuple[str, str]]:
    """A row for each reference."""
    return [(name, text) for name, texts in zip(names, REFERENCES) for text in texts]


def results(names: Sequence[Any]) -> str:
    return json.dumps([{"image_id": name, "caption": text} for name, text in zip(names, CAPTIONS)])


WAV, JPG = ["x y.wav", "b.wav", "c.wav"], ["1000.jpg", "1001.jpg", "1002.jpg"]
VIDEOS = ["video1", "video2", "video3"]
MSVD = ["-4wsuPCjDBc_5_15", "-7KMZQEsJW4_205_208", "zzit5b_-ukg_5_20"]
NUMBERS = [7, 8, 9]

KARPATHY = {
    "dataset": "flickr8k",
    "images": [
        {
            "filename": name, "imgid": i, "split": ["test", "test", "val"][i], "sentids": [2 * i, 2 * i + 1],
            "sentences": [{"raw": text, "tokens": text.split(), "imgid": i} for text in REFERENCES[i]],
        }
        for i, name in enumerate(JPG)
    ],
}  # fmt: skip
COCO_LIKE = [{"image_id": n, "id": 50 + i, "caption": text} for i, (n, text) in enumerate(rows(NUMBERS))]
NOCAPS = {
    "images": [{"id": n, "open_images_id": f"oi{n}", "file_name": f"{n}.jpg", "domain": "in-domain"} for n in NUMBERS],
    "annotations": COCO_LIKE,
}
VIZWIZ = {
    "images": [{"id": n, "file_name": f"VizWiz_val_{n}.jpg"} for n in NUMBERS],
    "annotations": [row | {"is_rejected": False, "is_precanned": False} for row in COCO_LIKE]
    + [
        {
            "image_id": 7,
            "id": 90,
            "caption": "Quality issues are too severe.",
            "is_rejected": False,
            "is_precanned": True,
        },
        {"image_id": 8, "id": 91, "caption": "xx", "is_rejected": True, "is_precanned": False},
    ],
}
TEXTCAPS = {
    "dataset_name": "textcaps",
    "data": [
        {
            "image_id": str(n),
            "caption_id": i,
            "caption_str": text,
            "reference_strs": REFERENCES[n - 7],
            "set_name": "val",
        }
        for i, (n, text) in enumerate((n, text) for n, text in rows(NUMBERS))  # type: ignore[arg-type, operator]
    ],
}
MSRVTT = {
    "info": {"year": "2016"},
    "videos": [{"video_id": name, "split": "test", "id": i, "category": 9} for i, name in enumerate(VIDEOS)],
    "sentences": [{"caption": text, "video_id": name, "sen_id": i} for i, (name, text) in enumerate(rows(VIDEOS))],
}
ONE_ROW = [{"prediction": c, "references": r} for c, r in zip(CAPTIONS, REFERENCES)]

# What it is: the files, the arguments, and a part of the note on what was recognised.
FORMS: dict[str, tuple[dict[str, str], list[str], str]] = {
    "Clotho": (
        {
            "p.csv": table("file_name,caption_predicted", list(zip(WAV, CAPTIONS))),
            "r.csv": table("file_name,caption_1,caption_2", [[name, *texts] for name, texts in zip(WAV, REFERENCES)]),
        },
        ["p.csv", "-r", "r.csv"],
        "r.csv: Clotho's table: images by `file_name`, captions from `caption_1` and `caption_2`",
    ),
    "AudioCaps": (
        {
            "p.csv": table("youtube_id,prediction", list(zip("abc", CAPTIONS))),
            "r.csv": table(
                "audiocap_id,youtube_id,start_time,caption",
                [[100 + i, name, 30, text] for i, (name, text) in enumerate(rows("abc"))],
            ),
        },
        ["p.csv", "-r", "r.csv"],
        "r.csv: AudioCaps' table: images by `youtube_id`, captions from `caption`",
    ),
    "AudioCaps by clip": (
        {
            "p.csv": table("file_name,prediction", [[f"{n}_30.wav", text] for n, text in zip("abc", CAPTIONS)]),
            "r.csv": table(
                "audiocap_id,youtube_id,start_time,caption",
                [[100 + i, name, 30, text] for i, (name, text) in enumerate(rows("abc"))],
            ),
        },
        ["p.csv", "-r", "r.csv", "--id", "youtube_id,start_time"],
        "Images go by their names without endings (.wav)",
    ),
    "aac-metrics": (
        {"p.csv": table("caption_predicted,caption_1,caption_2", [[c, *r] for c, r in zip(CAPTIONS, REFERENCES)])},
        ["p.csv"],
        "p.csv: the table of aac-metrics: one image a row",
    ),
    "MSR-VTT": ({"p.json": results(VIDEOS), "r.json": json.dumps(MSRVTT)}, ["p.json", "-r", "r.json"], "MSR-VTT"),
    "VATEX": (
        {
            "p.json": results(VIDEOS),
            "r.json": json.dumps(
                [{"videoID": name, "enCap": texts, "chCap": ["..."]} for name, texts in zip(VIDEOS, REFERENCES)]
            ),
        },
        ["p.json", "-r", "r.json"],
        "r.json: VATEX: images by `videoID`, captions from `enCap`",
    ),
    "MSVD": (
        {
            "p.json": results(MSVD),
            "AllVideoDescriptions.txt": "# a comment\n\n" + "".join(f"{n} {text}\n" for n, text in rows(MSVD)),
        },
        ["p.json", "-r", "AllVideoDescriptions.txt"],
        "MSVD's descriptions",
    ),
    "MSVD by number": (
        {
            "p.txt": "".join(f"{n}\t{text}\r\n" for n, text in zip(("vid1", "vid2", "vid3"), CAPTIONS)),
            "sents_test.txt": "".join(f"{n}\t{text}\n" for n, text in rows(["vid1", "vid2", "vid3"])),
        },
        ["p.txt", "-r", "sents_test.txt"],
        "ids and captions, a tab between",
    ),
    "Karpathy": (
        {"p.json": results(JPG), "dataset_flickr8k.json": json.dumps(KARPATHY)},
        ["p.json", "-r", "dataset_flickr8k.json"],
        "Karpathy's file, 3 images of all its splits (test, val), by `filename`",
    ),
    "Karpathy by number": (
        {"p.json": results([0, 1, 2]), "dataset_flickr8k.json": json.dumps(KARPATHY)},
        ["p.json", "-r", "dataset_flickr8k.json", "--id", "imgid"],
        "by `imgid`",
    ),
    "Flickr8k": (
        {
            "p.json": results(JPG),
            "Flickr8k.token.txt": "".join(f"{n}#{i % 2}\t{text}\n" for i, (n, text) in enumerate(rows(JPG))),
        },
        ["p.json", "-r", "Flickr8k.token.txt"],
        "Flickr's token file",
    ),
    "Flickr8k without endings": (
        {
            "p.json": results([1000, 1001, 1002]),
            "results.token": "".join(f"{n}#{i % 2}\t{text}\n" for i, (n, text) in enumerate(rows(JPG))),
        },
        ["p.json", "-r", "results.token"],
        "Images go by their names without endings (.jpg)",
    ),
    "Flickr30k": (
        {
            "p.json": results(JPG),
            "results.csv": "image_name| comment_number| comment\n"
            + "".join(f"{n}| {i % 2}{'' if i == 3 else '|'} {t}\n" for i, (n, t) in enumerate(rows(JPG))),
        },
        ["p.json", "-r", "results.csv"],
        "results.csv, line 5: a bar is missing after 1",
    ),
    "one row each": ({"p.jsonl": "".join(json.dumps(row) + "\n" for row in ONE_ROW)}, ["p.jsonl"], "one image a row"),
    "one row each, JSON": ({"p.json": json.dumps(ONE_ROW)}, ["p.json"], "captions from `prediction`"),
    "columns of lists": (
        {"p.json": json.dumps({"predictions": CAPTIONS, "references": REFERENCES})},
        ["p.json"],
        "captions from `predictions`",
    ),
    "lines": (
        {
            "hyp.txt": "\n".join(CAPTIONS),
            **{f"ref{i}.txt": "".join(f"{texts[i]}\n" for texts in REFERENCES) for i in range(2)},
        },
        ["hyp.txt", "-r", "ref0.txt", "ref1.txt"],
        "ref1.txt: 3 lines, a caption each",
    ),
    "ids as names": (
        {
            "p.json": json.dumps([{name: text} for name, text in zip(VIDEOS, CAPTIONS)]),
            "r.json": json.dumps([{name: texts} for name, texts in zip(VIDEOS, REFERENCES)]),
        },
        ["p.json", "-r", "r.json"],
        "a list of objects, an id and its caption each",
    ),
    "nocaps": (
        {"p.json": results(NUMBERS), "r.json": json.dumps(NOCAPS)}, ["p.json", "-r", "r.json"], "",
    ),
    "nocaps by name": (
        {"p.json": results([f"oi{n}" for n in NUMBERS]), "r.json": json.dumps(NOCAPS)},
        ["p.json", "-r", "r.json", "--id", "open_images_id"],
        "r.json: images by `open_images_id`",
    ),
    "TextCaps": ({"p.json": results(NUMBERS), "r.json": json.dumps(TEXTCAPS)}, ["p.json", "-r", "r.json"], "TextCaps"),
    "VizWiz": (
        {"p.json": results(NUMBERS), "r.json": json.dumps(VIZWIZ)},
        ["p.json", "-r", "r.json"],
        "2 captions marked as rejected or precanned left out",
    ),
    "columns named": (
        {"p.csv": table("pic,says,truth,also", [[n, c, *r] for n, c, r in zip(JPG, CAPTIONS, REFERENCES)])},
        ["p.csv", "--id", "pic", "--caption", "says", "--references", "truth", "--references", "also"],
        "p.csv: a table: images by `pic`, captions from `says`, references from `truth` and `also`",
    ),
    "columns in two files": (
        {
            "p.tsv": table("pic,says", list(zip(JPG, CAPTIONS)), "\t"),
            "r.jsonl": "".join(json.dumps({"picture": n, "truth": t}) + "\n" for n, t in zip(JPG, REFERENCES)),
        },
        ["p.tsv", "-r", "r.jsonl", "--id", "pic", "--id", "picture", "--caption", "says", "--references", "truth"],
        "r.jsonl: a table: images by `picture`, captions from `truth`",
    ),
    "lists as pandas writes them": (
        {"p.csv": table("prediction,references", [[c, str(r)] for c, r in zip(CAPTIONS, REFERENCES)])},
        ["p.csv"],
        "references from `references`",
    ),
    "semicolons": (
        {
            "p.csv": table("image_id,caption", list(zip(JPG, CAPTIONS)), ";"),
            "r.csv": table("image_id,caption", rows(JPG), ";"),
        },
        ["p.csv", "-r", "r.csv"],
        "",
    ),
}  # fmt: skip


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def score(files: dict[str, str], *arguments: str) -> Result:
    for name, text in files.items():
        Path(name).write_bytes(text.encode())
    return CliRunner().invoke(cli, ["score", *arguments, "-m", "bleu,cider_d", "--format", "json"])


@pytest.mark.parametrize("form", FORMS)
def test_every_form_scores_as_the_captions_do(form: str) -> None:
    files, arguments, note = FORMS[form]
    done = score(files, *arguments)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["scores"] == capeval.score(CAPTIONS, REFERENCES, ["bleu", "cider_d"]).scores
    assert note in done.stderr


@pytest.mark.parametrize("form", ["aac-metrics", "Clotho", "one row each", "Karpathy", "lines"])
def test_python_reads_the_same(form: str) -> None:
    files, arguments, _ = FORMS[form]
    score(files, *arguments)
    references = arguments[2] if len(arguments) == 3 else None
    if form == "lines":
        references = "ref0.txt"
    result = capeval.score(arguments[0], references, ["bleu"])
    truths = [texts[:1] for texts in REFERENCES] if form == "lines" else REFERENCES
    assert result.scores == capeval.score(CAPTIONS, truths, ["bleu"]).scores


def test_a_split_of_a_file() -> None:
    files = {"p.json": json.dumps({JPG[0]: CAPTIONS[0], JPG[1]: CAPTIONS[1]}), "d.json": json.dumps(KARPATHY)}
    done = score(files, "p.json", "-r", "d.json", "--split", "test", "--strict")
    assert done.exit_code == 0, done.output
    assert "d.json: 2 rows of 3, the split test" in done.stderr
    assert json.loads(done.stdout)["scores"] == capeval.score(CAPTIONS[:2], REFERENCES[:2], ["bleu", "cider_d"]).scores
    wrong = score(files, "p.json", "-r", "d.json", "--split", "dev")
    assert (wrong.exit_code, str(wrong.exception)) == (
        1, "d.json: no rows of the split 'dev'; there are test, val. Name others as `Reading.split`",
    )  # fmt: skip
    both = score(
        {"r.json": json.dumps(MSRVTT), "p.json": results(VIDEOS)}, "p.json", "-r", "r.json", "--split", "test,val"
    )
    assert both.exit_code == 0, both.output


# What cannot be told: the files, the arguments, and what the error says.
UNCLEAR: dict[str, tuple[dict[str, str], list[str], str]] = {
    "two captions": (
        {"p.csv": table("image_id,caption,prediction", [[1, "a", "b"]])}, ["p.csv", "-r", "p.csv"],
        "p.csv: `caption` and `prediction` may all hold the caption. Name the one to use with --caption",
    ),
    "two ids": (
        {"p.csv": table("filename,img_id,prediction,refs", [["a.jpg", 1, "b", "c"]])}, ["p.csv"],
        "`filename` and `img_id` may all hold the id of the image. Name the one to use with --id",
    ),
    "two references": (
        {"p.csv": table("prediction,references,ref_1", [["b", "c", "d"]])}, ["p.csv"],
        "`references` and `ref_1` may all hold references. Name those to use with --references",
    ),
    "nothing known": (
        {"p.csv": table("pic,says", [[1, "a"]]), "r.json": '{"1": ["a"]}'}, ["p.csv", "-r", "r.json"],
        "The columns there are: 'pic', 'says'. Name the columns with --id, --caption and --references",
    ),
    "no such column": (
        {"p.csv": table("image_id,caption", [[1, "a"]]), "r.json": '{"1": ["a"]}'},
        ["p.csv", "-r", "r.json", "--id", "picture"], "no file has a column 'picture'",
    ),
    "neither file nor column": (
        {"p.csv": table("image_id,caption", [[1, "a"]])}, ["p.csv", "-r", "truth"], "no file has a column 'truth'",
    ),
    "no such file": (
        {"p.csv": table("image_id,caption", [[1, "a"]])}, ["p.csv", "-r", "x.json"], "x.json: there is no such file",
    ),
    "too few lines": (
        {"h.txt": "a\nb\n", "r.txt": "a\nb\nc\n"}, ["h.txt", "-r", "r.txt"],
        "h.txt: 2 lines, but the references are 3 or go by ids",
    ),
    "other lines": (
        {"h.txt": "a\nb\n", "r.txt": "a\nb\n", "s.txt": "a\n"}, ["h.txt", "-r", "r.txt", "-r", "s.txt"],
        "s.txt: 1 line, but r.txt has 2",
    ),
    "a line without references": (
        {"h.txt": "a\nb\n", "r.txt": "a\n\n"}, ["h.txt", "-r", "r.txt"],
        "h.txt, line 2: 1 image of the candidates without references. Ids: '2'",
    ),
    "one odd line": (
        {"p.json": "{}", "t.txt": "a.jpg#0\tone\nb.jpg two\n"}, ["p.json", "-r", "t.txt"],
        "t.txt, line 2: this line is not like the first one (Flickr's token file)",
    ),
    "other ids": (
        {"p.json": '{"a": "b"}', "r.json": '{"x": ["y"], "z": ["y"]}'}, ["p.json", "-r", "r.json"],
        "p.json: none of the 1 image has references, whose ids are like 'x', 'z'. Ids: 'a'",
    ),
    "a data set as candidates": (
        {"p.json": json.dumps(MSRVTT)}, ["p.json", "-r", "p.json"],
        "which serve as references. Are the two files swapped?",
    ),
    "several captions": (
        {"p.json": '{"1": ["a", "b"]}', "r.json": '{"1": ["a"]}'}, ["p.json", "-r", "r.json"],
        "`caption` is a list of 2, not a text. Ids: '1'. With --several each is scored",
    ),
    "references that differ": (
        {"p.jsonl": '{"image_id": 1, "id": 1, "prediction": "a", "references": ["b"]}\n'
                    '{"image_id": 1, "id": 2, "prediction": "a", "references": ["c"]}\n'},
        ["p.jsonl"], "p.jsonl, line 2: other references than an earlier row of the image has",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", UNCLEAR)
def test_what_cannot_be_told_is_an_error_that_says_what_decides(
    case: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files, arguments, message = UNCLEAR[case]
    for name, text in files.items():
        Path(name).write_text(text)
    monkeypatch.setattr("sys.argv", ["capeval", "score", *arguments, "-m", "bleu"])
    from capeval.cli import main

    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code in (1, 2)
    assert message in capsys.readouterr().err


def test_several_captions_of_an_image_have_numbered_ids() -> None:
    files = {
        "p.jsonl": '{"image_id": 1, "captions": ["a dog", "a cat"]}\n{"image_id": 2, "captions": ["cars"]}\n',
        "q.json": json.dumps(
            [{"image_id": 1, "caption": c} for c in ("a dog", "a cat")] + [{"image_id": 2, "caption": "x"}]
        ),
        "r.json": '{"1": ["a dog"], "2": ["cars"]}',
    }
    for name in ("p.jsonl", "q.json"):
        done = score(files, name, "-r", "r.json", "--several", "--per-caption", "each.jsonl")
        assert done.exit_code == 0, done.output
        assert [json.loads(line)["id"] for line in Path("each.jsonl").read_text().splitlines()] == ["1#1", "1#2", "2"]


def test_odd_captions_are_noted() -> None:
    done = score(
        {
            "p.json": '{"1": "", "2": "nan", "3": "a dog"}',
            "r.json": '{"1": ["a"], "2": ["b", " "], "3": ["a dog"], "4": ["x"]}',
        },
        "p.json", "-r", "r.json",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "1 caption without a word (score 0): '1'." in done.stderr
    assert "1 caption that only says nan, none or null: '2'." in done.stderr
    assert "1 reference without a word." in done.stderr
    assert "1 image with references has no candidate and is left out." in done.stderr
