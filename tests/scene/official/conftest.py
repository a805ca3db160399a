"""A small grammar of our own, as text and as the Java-serialised object that the official tool would write."""

from __future__ import annotations

import gzip
import math
import struct
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from capeval.scene.official.grammar import Grammar, load_grammar, save_grammar
from capeval.scene.official.original import read_text_grammar

TAGS = ["DT^NP", "NN^NP", "NNS^NP", "JJ^NP", "VBZ^VP", "VBG^VP", "IN^PP", "CC^NP-C", "NNP^NP", ".$$."]
BINARY = [  # parent, left, right, probability
    ("ROOT", "S^ROOT-v", ".$$.", 0.6),
    ("ROOT", "NP^ROOT", ".$$.", 0.4),
    ("@S| VP_ NP<", "NP^S-B", "@S| VP_", 1.0),
    ("@NP| NN_ DT<", "DT^NP", "@NP| NN_", 0.5),
    ("@NP| NN_ DT<", "DT^NP", "@NP| NN_ JJ<", 0.3),
    ("@NP| NN_ JJ<", "JJ^NP", "@NP| NN_", 0.6),
    ("@NP| NN_ JJ<", "JJ^NP", "@NP| NN_ JJ<", 0.2),
    ("@NP| NP_ PP>", "NP^NP-B", "PP^NP", 0.3),
    ("@NP| NP_ CC>", "NP^NP-B", "CC^NP-C", 0.2),
    ("@NP| NP_ CC> NP>", "@NP| NP_ CC>", "NP^NP-B", 1.0),
    ("@VP| VBZ_ VP>", "VBZ^VP", "VP^VP-VBG", 0.4),
    ("@VP| VBZ_ NP>", "VBZ^VP", "NP^VP", 0.3),
    ("@VP| VBZ_ TMP>", "VBZ^VP", "NP-TMP^VP", 0.1),
    ("@VP| VBG_ NP>", "VBG^VP", "NP^VP", 0.5),
    ("@VP| VBG_ PP>", "VBG^VP", "PP^VP", 0.3),
    ("@PP| IN_ NP>", "IN^PP", "NP^PP", 1.0),
]
UNARY = [  # parent, child, probability
    ("S^ROOT-v", "@S| VP_ NP<", 1.0),
    ("@S| VP_", "VP^S", 1.0),
    ("VP^S", "@VP| VBZ_ VP>", 0.5),
    ("VP^S", "@VP| VBZ_ NP>", 0.3),
    ("VP^S", "@VP| VBZ_ TMP>", 0.1),
    ("VP^S", "VBZ^VP", 0.1),
    ("VP^VP-VBG", "@VP| VBG_ NP>", 0.5),
    ("VP^VP-VBG", "@VP| VBG_ PP>", 0.3),
    ("VP^VP-VBG", "VBG^VP", 0.2),
    ("PP^NP", "@PP| IN_ NP>", 1.0),
    ("PP^VP", "@PP| IN_ NP>", 1.0),
    ("@NP| NN_", "NN^NP", 0.7),
    ("@NP| NN_", "NNS^NP", 0.3),
    *[
        (parent, child, probability)
        for parent in ("NP^ROOT", "NP^S-B", "NP^VP", "NP^PP", "NP^NP-B")
        for child, probability in [
            ("@NP| NN_ DT<", 0.4),
            ("@NP| NN_ JJ<", 0.15),
            ("@NP| NN_", 0.15),
            ("@NP| NP_ PP>", 0.2),
            ("@NP| NP_ CC> NP>", 0.1),
        ]
        if parent != "NP^NP-B" or not child.startswith("@NP| NP_")
    ],
    ("NP-TMP^VP", "NN^NP", 0.5),
]
WORDS = {
    "a": {"DT^NP": 150.0, "NN^NP": 1.0},
    "the": {"DT^NP": 120.0},
    "dog": {"NN^NP": 30.0},
    "man": {"NN^NP": 40.0},
    "park": {"NN^NP": 10.0},
    "dogs": {"NNS^NP": 9.0},
    "brown": {"JJ^NP": 8.0, "NN^NP": 1.0},
    "gray": {"JJ^NP": 5.0},
    "is": {"VBZ^VP": 130.0},
    "holds": {"VBZ^VP": 7.0, "NNS^NP": 2.0},
    "running": {"VBG^VP": 6.0, "NN^NP": 2.0},
    "holding": {"VBG^VP": 7.0},
    "in": {"IN^PP": 140.0},
    "with": {"IN^PP": 90.0},
    "and": {"CC^NP-C": 110.0},
    "April": {"NNP^NP": 4.0, "NN^NP": 1.0},
}
UNSEEN = {
    "UNK-LCs": {"NNS^NP": 40.0, "VBZ^VP": 15.0},
    "UNK-LCg": {"VBG^VP": 30.0, "NN^NP": 5.0},
    "UNK-LC": {"NN^NP": 50.0, "JJ^NP": 40.0},
    "UNK-UCd": {"NN^NP": 20.0, "JJ^NP": 20.0},
}


def _states() -> list[str]:
    names = [".$$.", "ROOT", *TAGS]
    names += [name for rule in BINARY for name in rule[:3]] + [name for rule in UNARY for name in rule[:2]]
    return list(dict.fromkeys(names))


def _counts(table: dict[str, dict[str, float]]) -> dict[tuple[str, str], float]:
    """With totals by tag, by word, and of everything, which the original keeps under `.*.`."""
    counts: dict[tuple[str, str], float] = {}
    for word, tags in table.items():
        for tag, times in tags.items():
            for key in ((tag, word), (tag, ".*."), (".*.", word), (".*.", ".*.")):
                counts[key] = counts.get(key, 0.0) + times
    return counts


def tiny_text() -> str:
    """The grammar in the official text form."""
    lines = ["BEGIN OPTIONS", "smoothInUnknownsThreshold 100", "flexiTag true"]
    for name, entries in [("STATE", _states()), ("WORD", [*WORDS, *UNSEEN]), ("TAG", TAGS)]:
        lines += ["", f"BEGIN {name}_INDEX", *(f"{number}={entry}" for number, entry in enumerate(entries))]
    lines += ["", "BEGIN LEXICON model"]
    for kind, table in (("SEEN", WORDS), ("UNSEEN", UNSEEN)):
        lines += [f'"{tag}" -> "{word}" {kind} {times}' for (tag, word), times in _counts(table).items()]
    lines += ["smooth[0] = 1.0", "smooth[1] = 0.2", "", "BEGIN UNARY_GRAMMAR"]
    lines += [f'"{parent}" -> "{child}" {math.log(p)}' for parent, child, p in UNARY]
    lines += ["", "BEGIN BINARY_GRAMMAR"]
    lines += [f'"{parent}" -> "{left}" "{right}" {math.log(p)}' for parent, left, right, p in BINARY]
    return "\n".join([*lines, "", "BEGIN DEPENDENCY_GRAMMAR", ""])


@dataclass
class JavaWriter:
    """Writes objects as Java's serialisation does; only what a grammar needs."""

    data: bytearray = field(default_factory=lambda: bytearray(b"\xac\xed\x00\x05"))
    handles: int = 0
    classes: dict[str, int] = field(default_factory=dict)

    def text(self, text: str) -> None:
        self.data += struct.pack(">H", len(text.encode())) + text.encode()

    def string(self, text: str) -> None:
        self.handles += 1
        self.data += b"\x74"
        self.text(text)

    def describe(self, name: str, fields: dict[str, str], flags: int) -> None:
        if name in self.classes:
            self.data += b"\x71" + struct.pack(">i", 0x7E0000 + self.classes[name])
            return
        self.classes[name] = self.handles
        self.handles += 1
        self.data += b"\x72"
        self.text(name)
        self.data += struct.pack(">qBH", 1, flags, len(fields))
        for field_name, code in fields.items():
            self.data += code[:1].encode()
            self.text(field_name)
            if code[0] in "L[":
                self.string(code)
        self.data += b"\x78\x70"

    def object(self, name: str, values: dict[str, object], contents: list[object] | None = None) -> None:
        simple = {key: value for key, value in values.items() if isinstance(value, (int, float))}
        others = {key: value for key, value in values.items() if key not in simple}
        codes = {key: "I" if isinstance(value, int) else "D" for key, value in simple.items()}
        self.data += b"\x73"
        self.describe(name, codes | dict.fromkeys(others, "Lx;"), 2 if contents is None else 3)
        self.handles += 1
        for key, value in simple.items():
            self.data += struct.pack(">i" if codes[key] == "I" else ">d", value)
        for value in others.values():
            self.write(value)
        if contents is not None:
            self.data += b"\x77\x04\x00\x00\x00\x01"
            for value in contents:
                self.write(value)
            self.data += b"\x78"

    def write(self, value: object) -> None:
        if isinstance(value, str):
            self.string(value)
        elif isinstance(value, tuple):
            self.object(*value)
        else:
            assert isinstance(value, list)  # of doubles
            self.data += b"\x75"
            self.describe("[D", {}, 2)
            self.handles += 1
            self.data += struct.pack(f">i{len(value)}d", len(value), *value)


def tiny_java() -> bytes:
    """The grammar as the original file holds it, packed."""
    states = {state: number for number, state in enumerate(_states())}
    tags = {tag: number for number, tag in enumerate(TAGS)} | {".*.": -1}
    words = {word: number for number, word in enumerate([*WORDS, *UNSEEN])} | {".*.": -1}

    def index(names: list[str]) -> object:
        return ("Index", {"objects": ("List", {"size": len(names)}, names)})

    def counter(table: dict[str, dict[str, float]]) -> object:
        entries: list[object] = []
        for (tag, word), times in _counts(table).items():
            entries += [("TaggedWord", {"tag": tags[tag], "word": words[word]}), ("Double", {"d": times})]
        return ("Counter", {"map": ("Map", {"size": len(entries)}, entries)})

    binary: list[object] = [
        ("Rule2", {"parent": states[a], "leftChild": states[b], "rightChild": states[c], "score": math.log(p)})
        for a, b, c, p in BINARY
    ]
    unary: list[object] = []
    for parent, child, p in UNARY:
        rule = ("Rule1", {"parent": states[parent], "child": states[child], "score": math.log(p)})
        unary += [rule, rule]
    lexicon = {
        "smoothInUnknownsThreshold": 100,
        "seenCounter": counter(WORDS),
        "smooth": [1.0, 0.2],
        "uwModel": ("Model", {"unSeenCounter": counter(UNSEEN)}),
    }
    writer = JavaWriter()
    writer.object(
        "Parser",
        {
            "bg": ("Grammar2", {"allRules": ("List", {"size": len(binary)}, binary)}),
            "lex": ("Lexicon", lexicon),
            "stateIndex": index(list(states)),
            "tagIndex": index(TAGS),
            "ug": ("Grammar1", {"coreRules": ("Map", {"size": len(unary)}, unary)}),
            "wordIndex": index([*WORDS, *UNSEEN]),
        },
    )
    return gzip.compress(bytes(writer.data), mtime=0)


@pytest.fixture(scope="session")
def tiny_original() -> bytes:
    return tiny_java()


@pytest.fixture(scope="session")
def tiny_grammar_text() -> str:
    return tiny_text()


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Grammar:
    place = tmp_path_factory.mktemp("grammar") / "tiny.grammar"
    return load_grammar(save_grammar(read_text_grammar(tiny_text()), "0" * 64, place))


@pytest.fixture(scope="session")
def official_grammar(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Grammar:
    original = shared / "data" / "corenlp" / "englishPCFG.ser.gz"
    if not original.is_file():
        pytest.skip(f"{original} is not there")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CAPEVAL_CACHE", str(tmp_path_factory.mktemp("cache")))
        from capeval.scene.official.grammar import import_grammar

        return load_grammar(import_grammar(original))
