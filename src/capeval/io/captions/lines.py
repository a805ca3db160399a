"""Text files without a header: a caption on each line, with or without the id of its image.

- Flickr8k.token.txt, results_20130124.token: `1000268201_693b08cb0e.jpg#0`, a tab, the caption
- MSVD, AllVideoDescriptions.txt: `-4wsuPCjDBc_5_15 a squirrel is eating`
- MSVD, sents_test_lc_nopunc.txt: `vid1301`, a tab, the caption
- hyp.txt, ref0.txt, ref1.txt: line i of each belongs together
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from capeval.errors import DataError, counted
from capeval.io.captions.layout import Reading
from capeval.io.captions.table import CANDIDATES, Kind, Table

# Endings of files that hold lines, unless their first line is a header.
ENDINGS = ("", ".txt", ".token", ".tok", ".hyp", ".ref", ".pred", ".out")
_TOKEN = re.compile(r"(\S.*?)#\d+\t(.*)")
_MSVD = re.compile(r"([\w-]{11}_\d+_\d+)[ \t]+(.*)")
WITH_IDS = re.compile(f"{_TOKEN.pattern}|{_MSVD.pattern}")
"""Lines that cannot be taken for the header of a table."""
_TABBED = re.compile(r"([^\t]*\S[^\t]*)\t(.*)")
_FORMS = ((_TOKEN, "Flickr's token file"), (_MSVD, "MSVD's descriptions"), (_TABBED, "ids and captions, a tab between"))


def table_from_lines(data: bytes, source: str, kind: Kind, reading: Reading) -> Table:
    lines = data.decode().split("\n")
    if not lines[-1]:
        lines.pop()
    texts = [(number, line.removesuffix("\r")) for number, line in enumerate(lines, 1)]
    with_ids = [(number, line) for number, line in texts if line.strip() and not line.startswith("#")]
    for form, name in _FORMS:
        if with_ids and form.fullmatch(with_ids[0][1]):
            reading.tell(f"{source}: {name}")
            return _with_ids(with_ids, form, source, kind, name)
    reading.tell(f"{source}: {counted(len(texts), 'line')}, a caption each")
    columns: dict[str, list[Any]] = {"image_id": [str(number) for number, _ in texts]}
    captions = [line.strip() for _, line in texts]
    # A blank line is a caption without words, or an image that has fewer references than others.
    columns[kind.text_names[0]] = captions if kind is CANDIDATES else [[text] if text else [] for text in captions]
    return Table(source, kind, columns, "line", [number for number, _ in texts], by_line=True)


def _with_ids(lines: Sequence[tuple[int, str]], form: re.Pattern[str], source: str, kind: Kind, name: str) -> Table:
    found = [(number, form.fullmatch(line)) for number, line in lines]
    wrong = [number for number, match in found if match is None]
    if wrong:
        message = f"this line is not like the first one ({name})" + (
            f"; {counted(len(wrong), 'line')} like this" if len(wrong) > 1 else ""
        )
        raise DataError(message, file=source, line=wrong[0])
    pairs = [(match[1], match[2].strip()) for _, match in found if match]
    columns: dict[str, list[Any]] = {
        "image_id": [image for image, _ in pairs],
        kind.text_names[0]: [caption for _, caption in pairs],
    }
    return Table(source, kind, columns, "line", [number for number, _ in found])
