"""LMDB files with LZ4 frames in them, made here byte by byte in the published layout; CapEval1k is read from one."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import msgspec
import pytest

from capeval.bench import Ratings, load
from capeval.bench.lz4frame import unpack
from capeval.bench.mdbfile import read_mdb
from capeval.errors import DataError

SIZE = 4096
FRAME = struct.pack("<IBBB", 0x184D2204, 0x60, 0x40, 0x82)


def meta(number: int, transaction: int, root: int) -> bytes:
    """Page 0 or 1: the flags, the signature, two databases of 48 bytes (root last), the last page, the transaction."""
    databases = struct.pack("<I44x", SIZE) + struct.pack("<40xQ", root)
    body = struct.pack("<IIQQ", 0xBEEFC0DE, 1, 0, 1 << 20) + databases + struct.pack("<QQ", 9, transaction)
    return (struct.pack("<QHHHH", number, 0, 0x08, 0, 0) + body).ljust(SIZE, b"\0")


def page(number: int, flags: int, nodes: list[bytes]) -> bytes:
    """Nodes fill a page from its end; their places come after the header."""
    places, end = [], SIZE
    for node in nodes:
        end -= len(node) + len(node) % 2
        places.append(end)
    header = struct.pack("<QHHHH", number, 0, flags, 16 + 2 * len(nodes), end)
    found = bytearray((header + struct.pack(f"<{len(places)}H", *places)).ljust(SIZE, b"\0"))
    for place, node in zip(places, nodes):
        found[place : place + len(node)] = node
    return bytes(found)


def leaf(key: bytes, value: bytes, flags: int = 0) -> bytes:
    return struct.pack("<HHHH", len(value) & 0xFFFF, len(value) >> 16, flags, len(key)) + key + value


def branch(child: int, key: bytes = b"") -> bytes:
    return struct.pack("<HHHH", child & 0xFFFF, child >> 16 & 0xFFFF, child >> 32, len(key)) + key


def tree(left: dict[bytes, bytes], right: dict[bytes, bytes]) -> bytes:
    """A branch page with two leaves; an older transaction has another root, which does not count."""
    leaves = [page(2 + i, 0x02, [leaf(*pair) for pair in pairs.items()]) for i, pairs in enumerate((left, right))]
    return meta(0, 7, 4) + meta(1, 6, 2) + b"".join(leaves) + page(4, 0x01, [branch(2), branch(3, min(right))])


def plain(data: bytes) -> bytes:
    """A frame with one block that is not packed."""
    return FRAME + struct.pack("<I", len(data) | 1 << 31) + data + struct.pack("<I", 0)


def test_keys_and_values_through_the_tree(tmp_path: Path) -> None:
    (tmp_path / "data.mdb").write_bytes(tree({b"0": b"first", b"1": b""}, {b"7": b"last"}))
    assert list(read_mdb(tmp_path / "data.mdb")) == [(b"0", b"first"), (b"1", b""), (b"7", b"last")]


def test_an_empty_database(tmp_path: Path) -> None:
    (tmp_path / "data.mdb").write_bytes(meta(0, 1, 2**64 - 1) + meta(1, 0, 2**64 - 1))
    assert list(read_mdb(tmp_path / "data.mdb")) == []


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no database" * 1000,
        meta(0, 7, 2) + meta(1, 6, 2),  # the page is missing
        meta(0, 7, 2) + meta(1, 6, 2) + page(2, 0x01, [branch(2)]),  # a page below itself
        meta(0, 7, 2) + meta(1, 6, 2) + page(2, 0x02, [leaf(b"k", b"v", flags=1)]),  # a value on pages of its own
        meta(0, 7, 2) + meta(1, 6, 2) + page(2, 0x04, [leaf(b"k", b"v")]),
    ],
)
def test_other_files_are_told(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "data.mdb").write_bytes(content)
    with pytest.raises(DataError, match="LMDB"):
        list(read_mdb(tmp_path / "data.mdb"))


def test_lz4() -> None:
    assert unpack(plain(b"some words")) == b"some words"
    # "ab", then 7 bytes from 2 back, then "!"; worked out by hand from the format.
    block = bytes([0x23]) + b"ab" + struct.pack("<H", 2) + bytes([0x10]) + b"!"
    assert unpack(FRAME + struct.pack("<I", len(block)) + block + struct.pack("<I", 0)) == b"abababababa"[:9] + b"!"
    # 20 literals need a second byte for their number.
    block = bytes([0xF0, 5]) + b"x" * 20
    assert unpack(FRAME + struct.pack("<I", len(block)) + block + struct.pack("<I", 0)) == b"x" * 20


@pytest.mark.parametrize("frame", [b"", b"abc", plain(b"words")[:-6], FRAME + struct.pack("<I", 3) + b"\x20a\x09"])
def test_broken_frames(frame: bytes) -> None:
    with pytest.raises(ValueError, match="LZ4"):
        unpack(frame)


def capeval1k(root: Path, pieces: list[int], picture: str = "coco_val2014_000000000009.npz") -> None:
    value = {"input_ids": pieces, "img_fname": picture, "target": 0.15000000000000002}
    packed = plain(msgspec.msgpack.encode(value))
    for path in (root / "UMIC/txt_db/capeval1k/data.mdb", root / "bert-base-cased/vocab.txt", root / "coco/x"):
        path.parent.mkdir(parents=True, exist_ok=True)
    (root / "UMIC/txt_db/capeval1k/data.mdb").write_bytes(tree({b"0": packed, b"10": packed}, {b"250": packed}))
    (root / "bert-base-cased/vocab.txt").write_text("[PAD]\na\ndog\n##gie\nruns\n")
    known = [{"id": 1, "image_id": 9, "caption": "A dog."}]
    (root / "coco/captions_val2014.json").write_text(json.dumps({"annotations": known}))


def test_capeval1k_from_word_pieces(tmp_path: Path) -> None:
    capeval1k(tmp_path, [1, 2, 3, 4])
    found = load("capeval1k", tmp_path)
    assert isinstance(found, Ratings)
    assert found.dataset.ids == ["capeval1k-0", "capeval1k-10", "capeval1k-250"]
    assert found.dataset.candidates[0] == "a doggie runs"
    assert found.dataset.images[0] == "COCO_val2014_000000000009.jpg"
    assert found.dataset.systems == ["A", "A", "B"]
    assert found.dataset[0].references == ("A dog.",)
    assert found.human[:, 0].tolist() == [0.15] * 3


@pytest.mark.parametrize(("pieces", "picture"), [([99], "coco_val2014_000000000009.npz"), ([1], "other.npz")])
def test_a_wrong_file_of_capeval1k(pieces: list[int], picture: str, tmp_path: Path) -> None:
    capeval1k(tmp_path, pieces, picture)
    with pytest.raises(DataError, match="not laid out as the published file"):
        load("capeval1k", tmp_path)
