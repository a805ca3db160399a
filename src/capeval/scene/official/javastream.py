"""Reading a Java serialisation stream as plain data: classes are names, objects are fields. Nothing is executed.

The form is that of the public "Java Object Serialization Specification", version 5 of the protocol.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

MAGIC = b"\xac\xed\x00\x05"
_NULL, _REFERENCE, _CLASS_DESCRIPTION, _OBJECT, _STRING, _ARRAY, _CLASS = range(0x70, 0x77)
_BLOCK, _END_BLOCK, _RESET, _LONG_BLOCK, _EXCEPTION, _LONG_STRING, _PROXY, _ENUM = range(0x77, 0x7F)
_FIRST_HANDLE = 0x7E0000
_HAS_WRITE_METHOD, _IS_SERIALISABLE, _IS_EXTERNALISABLE, _HAS_BLOCKS = 1, 2, 4, 8

_PRIMITIVES = {"B": "b", "C": "H", "D": "d", "F": "f", "I": "i", "J": "q", "S": "h", "Z": "?"}
_MAX_DEPTH = 200  # objects within objects; a parser's grammar has a dozen


class StreamError(ValueError):
    """The bytes are not a whole serialisation stream."""


@dataclass(slots=True)
class JavaClass:
    name: str
    flags: int
    names: tuple[str, ...]
    """Fields of primitive types first, as in the stream; then fields that hold objects."""
    primitives: struct.Struct
    parent: JavaClass | None = None

    def lineage(self) -> list[JavaClass]:
        """The class and its ancestors, the oldest first."""
        return [*(self.parent.lineage() if self.parent else ()), self]


@dataclass(slots=True, eq=False)
class JavaObject:
    kind: str
    fields: dict[str, Any] = field(default_factory=dict)
    contents: list[Any] = field(default_factory=list)
    """What the class wrote by its own method: objects, and runs of bytes."""

    def elements(self) -> list[Any]:
        """Of a list: its elements. Of a map: keys and values in turns."""
        return [thing for thing in self.contents if not isinstance(thing, bytes)]

    def pairs(self) -> Iterator[tuple[Any, Any]]:
        """Keys and values of a map."""
        things = self.elements()
        if len(things) % 2:
            raise StreamError("a map has a key without a value")
        return zip(things[::2], things[1::2])


def read_stream(data: bytes) -> Any:
    """The first object of the stream: a `JavaObject`, a string, an array or None."""
    return _Reader(data).read_all()


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.place = data, 0
        self.handles: list[Any] = []
        self.depth = 0

    def read_all(self) -> Any:
        if self.take(4) != MAGIC:
            raise StreamError("this is not a Java serialisation stream")
        try:
            return self.content()
        except (struct.error, IndexError, UnicodeDecodeError, KeyError) as error:
            raise StreamError(f"the stream is damaged near byte {self.place}: {error}") from None

    def fail(self, message: str) -> NoReturn:
        raise StreamError(f"{message}, near byte {self.place}")

    def take(self, size: int) -> bytes:
        end = self.place + size
        if size < 0 or end > len(self.data):
            self.fail("the stream ends too early")
        taken = self.data[self.place : end]
        self.place = end
        return taken

    def number(self, form: str) -> int:
        (value,) = struct.unpack(form, self.take(struct.calcsize(form)))
        return int(value)

    def text(self, form: str = ">H") -> str:
        # Java's variant of UTF-8 differs only for NUL and for characters beyond the basic plane.
        return self.take(self.number(form)).decode("utf-8", "surrogatepass")

    def remember(self, thing: Any) -> Any:
        self.handles.append(thing)
        return thing

    def content(self) -> Any:
        """The next thing of the stream."""
        kind = self.data[self.place]
        self.place += 1
        if kind == _NULL:
            return None
        if kind == _REFERENCE:
            return self.reference()
        if kind == _STRING:
            return self.remember(self.text())
        if kind == _LONG_STRING:
            return self.remember(self.text(">Q"))
        if kind == _BLOCK:
            return self.take(self.number(">B"))
        if kind == _LONG_BLOCK:
            return self.take(self.number(">i"))
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            self.fail("objects are nested too deeply")
        try:
            return self.structure(kind)
        finally:
            self.depth -= 1

    def structure(self, kind: int) -> Any:
        if kind == _OBJECT:
            return self.object()
        if kind == _ARRAY:
            return self.array()
        if kind == _ENUM:
            description = self.class_description()
            made = self.remember(JavaObject(description.name if description else ""))
            made.fields["name"] = self.content()
            return made
        if kind == _CLASS_DESCRIPTION:
            self.place -= 1
            return self.class_description()
        if kind == _CLASS:
            return self.remember(self.class_description())
        self.fail(f"unknown mark 0x{kind:02x}")

    def reference(self) -> Any:
        handle = self.number(">i") - _FIRST_HANDLE
        if not 0 <= handle < len(self.handles):
            self.fail("a reference to nothing")
        return self.handles[handle]

    def class_description(self) -> JavaClass | None:
        kind = self.data[self.place]
        self.place += 1
        if kind == _NULL:
            return None
        if kind == _REFERENCE:
            described = self.reference()
            if not isinstance(described, JavaClass):
                self.fail("a class was expected")
            return described
        if kind != _CLASS_DESCRIPTION:
            self.fail(f"a class was expected, not 0x{kind:02x}")
        name = self.text()
        self.take(8)  # the version of the class
        made: JavaClass = self.remember(JavaClass(name, 0, (), struct.Struct(">")))
        made.flags = self.number(">B")
        self.read_fields(made)
        self.annotation()
        made.parent = self.class_description()
        return made

    def read_fields(self, made: JavaClass) -> None:
        simple, objects, form = [], [], ">"
        for _ in range(self.number(">H")):
            code, name = chr(self.number(">B")), self.text()
            if code in _PRIMITIVES:
                simple.append(name)
                form += _PRIMITIVES[code]
            else:
                self.content()  # the name of the field's class
                objects.append(name)
        made.names, made.primitives = (*simple, *objects), struct.Struct(form)

    def annotation(self) -> list[Any]:
        things = []
        while self.data[self.place] != _END_BLOCK:
            things.append(self.content())
        self.place += 1
        return things

    def object(self) -> JavaObject:
        described = self.class_description()
        if described is None:
            self.fail("an object without a class")
        made: JavaObject = self.remember(JavaObject(described.name))
        for part in described.lineage():
            if part.flags & _IS_SERIALISABLE:
                values = part.primitives.unpack(self.take(part.primitives.size))
                made.fields.update(zip(part.names, values))
                for name in part.names[len(values) :]:
                    made.fields[name] = self.content()
                if part.flags & _HAS_WRITE_METHOD:
                    made.contents.extend(self.annotation())
            elif part.flags & _IS_EXTERNALISABLE and part.flags & _HAS_BLOCKS:
                made.contents.extend(self.annotation())
            elif part.flags & _IS_EXTERNALISABLE:
                self.fail(f"{part.name} has a form of its own")
        return made

    def array(self) -> Any:
        described = self.class_description()
        name = described.name if described else ""
        place = len(self.handles)
        self.handles.append(None)
        size = self.number(">i")
        if name[1:] in _PRIMITIVES:
            numbers = np.dtype(">" + ("u2" if name == "[C" else _PRIMITIVES[name[1:]]))
            made: Any = np.frombuffer(self.take(size * numbers.itemsize), dtype=numbers)
        else:
            if not 0 <= size <= len(self.data) - self.place:  # each element takes a byte at least
                self.fail("an array is longer than the stream")
            made = [self.content() for _ in range(size)]
        self.handles[place] = made
        return made
