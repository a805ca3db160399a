"""Build the files of `src/capeval/data/meteor` from METEOR's jar.

    python tools/build_meteor_data.py [path of meteor-1.5.jar]

The jar comes inside the PyPI package `pycocoevalcap==1.2`; if that is installed, its jar is found. The jar is read as
a zip archive: word lists and WordNet tables, no code. The same jar gives the same bytes.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import zipfile
from pathlib import Path

import numpy as np
import numpy.typing as npt
from official_package import folder

SHA256 = {
    "function/english.words": "2ae0d5b8c29e2993a0f442b065b946d1a17fbfe8538e66bf5931c4a248cf4c3a",
    "nonbreaking/english.prefixes": "bd909f364224748976f9b8b7cdeb4f9be3bf7c8e66a10f1ed268b12d904ab876",
    "synonym/COPYING.WORDNET": "a9c2429bcded547ce3a9d19250df850ad65ec13ad7c320a662d84fb12419e130",
    "synonym/english.exceptions": "5feb8fcb5b349d035df1a448149c2ccc860bf32e4b9eea8c8e4f113e90a5a962",
    "synonym/english.synsets": "20b7cf6ae1cba2395d714d8c2ec2992e88c6d1c75c7c30aa480c6a2a9bb8fef9",
}
OUTPUT = Path(__file__).resolve().parents[1] / "src" / "capeval" / "data" / "meteor"
LICENSE_START = "WordNet Release 3.0"


def read_members(jar: Path) -> dict[str, list[str]]:
    """The lines of each file we need."""
    members = {}
    with zipfile.ZipFile(jar) as archive:
        for name, digest in SHA256.items():
            data = archive.read(name)
            if hashlib.sha256(data).hexdigest() != digest:
                raise SystemExit(f"{jar}: {name} is not the file METEOR 1.5 has")
            members[name] = data.decode("utf-8").splitlines()
    return members


def wordnet_tables(synset_lines: list[str], exception_lines: list[str]) -> dict[str, npt.NDArray[np.generic]]:
    """Both files have two lines for each entry: a word, and its synsets or its irregular forms."""
    synsets = {word: sorted(map(int, line.split())) for word, line in _pairs(synset_lines)}
    bases: dict[str, list[str]] = {}
    for base, forms in _pairs(exception_lines):
        for form in forms.split():
            bases.setdefault(form, []).append(base)
    words = sorted(synsets)
    return {
        "words": _units("\n".join(words)),
        "synset_counts": np.array([len(synsets[word]) for word in words], np.int32),
        "synsets": np.array([number for word in words for number in synsets[word]], np.int32),
        "irregular": _units("\n".join(" ".join([form, *bases[form]]) for form in sorted(bases))),
    }


def _pairs(lines: list[str]) -> list[tuple[str, str]]:
    return list(zip(lines[0::2], lines[1::2], strict=True))


def _units(text: str) -> npt.NDArray[np.uint8]:
    return np.frombuffer(text.encode("utf-8"), np.uint8)


def write_tables(path: Path, tables: dict[str, npt.NDArray[np.generic]]) -> None:
    """Like np.savez_compressed, but without the time of day, so that the file can be compared."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, values in tables.items():
            stream = io.BytesIO()
            np.lib.format.write_array(stream, values, allow_pickle=False)
            member = zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0))
            archive.writestr(member, stream.getvalue(), zipfile.ZIP_DEFLATED, 9)


def prefix_lines(lines: list[str]) -> list[str]:
    """One abbreviation in each line, followed by `number` where its dot stays only before a number."""
    prefixes = {}
    for line in lines:
        if line.strip() and not line.startswith("#"):
            prefix, *condition = line.split()
            prefixes[prefix] = f"{prefix} number" if condition == ["#NUMERIC_ONLY#"] else prefix
    return list(prefixes.values())


def write_lines(path: Path, lines: list[str]) -> None:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description="Build METEOR's word lists and WordNet tables.")
    parser.add_argument("jar", type=Path, nargs="?", help="meteor-1.5.jar; default: that of the installed package")
    parser.add_argument("-o", "--output", type=Path, default=OUTPUT, help="directory to write to")
    arguments = parser.parse_args()
    members = read_members(arguments.jar or folder() / "meteor" / "meteor-1.5.jar")
    arguments.output.mkdir(parents=True, exist_ok=True)
    write_lines(arguments.output / "function-words.txt", members["function/english.words"])
    write_lines(arguments.output / "nonbreaking-prefixes.txt", prefix_lines(members["nonbreaking/english.prefixes"]))
    licence = members["synonym/COPYING.WORDNET"]
    write_lines(arguments.output / "LICENSE-wordnet.txt", licence[licence.index(LICENSE_START) :])
    tables = wordnet_tables(members["synonym/english.synsets"], members["synonym/english.exceptions"])
    write_tables(arguments.output / "wordnet.npz", tables)


if __name__ == "__main__":
    main()
