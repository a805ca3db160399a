from __future__ import annotations

import gzip
import zipfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capeval.errors import CapevalError, DataError
from capeval.scene.official import grammar as module
from capeval.scene.official.grammar import (
    MEMBER,
    Grammar,
    MissingGrammar,
    find_grammar_source,
    grammar_path,
    import_grammar,
    label_of,
    load_grammar,
    save_grammar,
)
from capeval.scene.official.javastream import MAGIC, StreamError, read_stream
from capeval.scene.official.lexicon import signature
from capeval.scene.official.original import read_java_grammar, read_text_grammar


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CAPEVAL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_missing_grammar_names_both_commands(cache: Path) -> None:
    with pytest.raises(CapevalError) as caught:
        load_grammar()
    assert "capeval data import spice-grammar [FILE]" in str(caught.value)
    assert "capeval data fetch spice-grammar" in str(caught.value)


def test_text_and_java_give_the_same_arrays(tiny_original: bytes, tiny_grammar_text: str) -> None:
    from_java = read_java_grammar(gzip.decompress(tiny_original))
    from_text = read_text_grammar(tiny_grammar_text)
    assert from_java.keys() == from_text.keys()
    for name, array in from_java.items():
        np.testing.assert_array_equal(array, from_text[name], err_msg=name)


def test_import_from_file_and_jar(cache: Path, tmp_path: Path, tiny_original: bytes) -> None:
    plain, jar = tmp_path / "g.ser.gz", tmp_path / "models.jar"
    plain.write_bytes(tiny_original)
    with zipfile.ZipFile(jar, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("other", b"x" * 1000)
        archive.writestr(MEMBER, tiny_original)
    for source in (plain, jar):
        assert import_grammar(source, allow_other=True) == grammar_path()
        grammar = load_grammar()
        assert grammar.states[grammar.root] == "ROOT"
        grammar_path().unlink()


def test_another_grammar_is_refused_unless_allowed(cache: Path, tmp_path: Path, tiny_original: bytes) -> None:
    source = tmp_path / "g.ser.gz"
    source.write_bytes(tiny_original)
    with pytest.raises(DataError, match=r"not the grammar of CoreNLP 3\.6\.0"):
        import_grammar(source)
    assert not grammar_path().exists()


@pytest.mark.parametrize(
    "content", [b"", b"nothing", gzip.compress(b"nothing", mtime=0), gzip.compress(MAGIC + b"\x70", mtime=0)]
)
def test_other_files_are_refused(cache: Path, tmp_path: Path, content: bytes) -> None:
    source = tmp_path / "g.ser.gz"
    source.write_bytes(content)
    with pytest.raises(DataError, match=r"g\.ser\.gz"):
        import_grammar(source, allow_other=True)
    with pytest.raises(DataError, match="no such file"):
        import_grammar(tmp_path / "absent")


def test_jar_without_the_grammar(cache: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "code.jar", "w") as archive:
        archive.writestr("other", b"x")
    with pytest.raises(DataError, match="no edu/stanford"):
        import_grammar(tmp_path / "code.jar")


def test_damage_is_noticed(tmp_path: Path, tiny_grammar_text: str) -> None:
    place = save_grammar(read_text_grammar(tiny_grammar_text), "0" * 64, tmp_path / "g")
    whole = place.read_bytes()
    for cut in (0, 10, 50, 100, len(whole) // 2, len(whole) - 1):
        place.write_bytes(whole[:cut])
        with pytest.raises(DataError, match=r"damaged.*capeval data import"):
            load_grammar(place)
    for at in range(0, len(whole), 997):
        place.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(DataError, match="damaged"):
            load_grammar(place)


def test_arrays_that_do_not_fit_are_refused(tmp_path: Path, tiny_grammar_text: str) -> None:
    arrays = read_text_grammar(tiny_grammar_text)
    for name, wrong in {
        "binary": arrays["binary"] + 1000,
        "unary_scores": arrays["unary_scores"][:-1],
        "binary_scores": arrays["binary_scores"] * np.float32(np.nan),
        "seen_tags": arrays["seen_tags"] + 100,
        "seen_offsets": arrays["seen_offsets"][:-1],
        "states": arrays["states"][:20],
    }.items():
        with pytest.raises(ValueError):
            save_grammar({**arrays, name: wrong}, "0" * 64, tmp_path / "g")
        assert not (tmp_path / "g").exists()


@given(data=st.data())
def test_damaged_streams_raise_nothing_else(data: st.DataObject, tiny_original: bytes) -> None:
    stream = bytearray(gzip.decompress(tiny_original))
    stream = stream[: data.draw(st.integers(0, len(stream)))]
    for _ in range(data.draw(st.integers(0, 4))):
        if stream:
            stream[data.draw(st.integers(0, len(stream) - 1))] = data.draw(st.integers(0, 255))
    with suppress(StreamError):
        read_java_grammar(bytes(stream))


def test_sizes_in_the_stream_are_checked() -> None:
    double_array = MAGIC + b"\x75\x72\x00\x02[D" + bytes(8) + b"\x02\x00\x00\x78\x70" + b"\x7f\xff\xff\xff"
    with pytest.raises(StreamError, match="ends too early"):
        read_stream(double_array)
    object_array = double_array.replace(b"\x00\x02[D", b"\x00\x02[L")
    with pytest.raises(StreamError, match="longer than the stream"):
        read_stream(object_array)
    nested = MAGIC + b"\x75\x72\x00\x02[L" + bytes(8) + b"\x02\x00\x00\x78\x70\x00\x00\x00\x01"
    with pytest.raises(StreamError, match="nested too deeply"):
        read_stream(nested + b"\x75\x71\x00\x7e\x00\x00\x00\x00\x00\x01" * 1000)


def test_where_other_tools_keep_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.delenv("CORENLP_HOME", raising=False)
    assert find_grammar_source() is None
    with pytest.raises(MissingGrammar, match=r"\.m2"):
        import_grammar()
    jar = tmp_path / ".m2/repository/edu/stanford/nlp/stanford-corenlp/3.6.0/stanford-corenlp-3.6.0-models.jar"
    jar.parent.mkdir(parents=True)
    jar.write_bytes(b"")
    assert find_grammar_source() == jar
    jar.unlink()
    (tmp_path / "englishPCFG.ser.gz").write_bytes(b"")
    monkeypatch.setenv("CORENLP_HOME", str(tmp_path))
    assert find_grammar_source() == tmp_path / "englishPCFG.ser.gz"


@pytest.mark.parametrize(
    ("state", "label"),
    [
        ("NP^S-B", "NP"),
        ("@NP| NN_", ""),
        ("NP-TMP^VP", "NP-TMP"),
        ("NN-TMP^NP", "NN"),
        (".$$.", ".$$."),
        ("-LRB-^NP", "-LRB-"),
        ("PRP$^NP", "PRP$"),
        ("ROOT", "ROOT"),
    ],
)
def test_labels(state: str, label: str) -> None:
    assert label_of(state) == label


@pytest.mark.parametrize(
    ("word", "sign", "first_sign"),
    [
        ("skateboader", "UNK-LCr", "UNK-LCr"),
        ("Bob", "UNK-UC", "UNK-INIT"),
        ("NASA", "UNK-ALLCA", "UNK-ALLCA"),
        ("2014", "UNK-NUM", "UNK-NUM"),
        ("9-year", "UNK-LC-DASH-DIG", "UNK-LC-DASH-DIG"),
        ("well-lit", "UNK-LC-DASHt", "UNK-LC-DASHt"),
        ("😀", "UNK", "UNK"),
        ("", "UNK", "UNK"),
    ],
)
def test_signatures(word: str, sign: str, first_sign: str) -> None:
    assert (signature(word, False), signature(word, True)) == (sign, first_sign)


def test_spellings(tiny: Grammar) -> None:
    known = {word: tiny.lexicon.known_as(word) for word in ("grey", "april", "dog", "travelling", "may")}
    assert known == {"grey": "gray", "april": "April", "dog": "dog", "travelling": "travelling", "may": "may"}


def test_lexicon_equals_the_official_one(official_grammar: Grammar, shared: Path) -> None:
    lexicon = official_grammar.lexicon
    names = [official_grammar.states[state] for state in official_grammar.tag_states]
    with gzip.open(shared / "data" / "corenlp" / "lexicon_check.tsv.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            word, place, listed = line.rstrip("\n").split("\t")
            expected = {entry.rpartition("=")[0]: float(entry.rpartition("=")[2]) for entry in listed.split()}
            tags, scores = lexicon.scores(word, place == "0")
            assert dict(zip((names[tag] for tag in tags), scores.tolist())) == pytest.approx(expected, abs=1e-6)


def test_a_grammar_that_several_machines_share(
    cache: Path, tiny_original: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it lies in one user's cache, in the folder of $CAPEVAL_ASSETS; an import goes to the user's own cache."""
    source = tmp_path / "englishPCFG.ser.gz"
    source.write_bytes(tiny_original)
    own = import_grammar(source, allow_other=True)
    shared = tmp_path / "shared" / "spice-grammar" / own.name
    shared.parent.mkdir(parents=True)
    own.rename(shared)
    monkeypatch.setenv("CAPEVAL_ASSETS", str(tmp_path / "shared"))
    assert grammar_path() == shared
    assert load_grammar().states
    assert import_grammar(source, allow_other=True) == own == grammar_path()
