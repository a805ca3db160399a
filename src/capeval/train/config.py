"""Configs: frozen dataclasses, read from TOML files and from settings such as `epochs=3`."""

from __future__ import annotations

import ast
import inspect
import json
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from itertools import pairwise
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from capeval.errors import DataError, UnknownName
from capeval.io.files import PathLike, read_bytes, utf8_without_bom

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Count = Annotated[int, Meta(ge=1)]
Share = Annotated[float, Meta(ge=0, lt=1)]


@dataclass(frozen=True)
class TrainConfig:
    """What every training has."""

    seed: Annotated[int, Meta(ge=0)] = 0
    """Of all random draws."""
    epochs: Count = 30
    """How many at most."""
    patience: Annotated[int, Meta(ge=0)] = 0
    """Stop after so many epochs without improvement; 0: never."""
    batch: Count = 100
    """Examples in a step."""
    learning_rate: Annotated[float, Meta(gt=0)] = 1e-3
    """Of the first epoch."""
    decay: Annotated[float, Meta(gt=0, le=1)] = 0.9
    """The learning rate is multiplied by it after each epoch."""
    clip: Annotated[float, Meta(ge=0)] = 1.0
    """Largest norm of the gradient; 0: any."""
    weight_decay: Annotated[float, Meta(ge=0)] = 0.0
    """L2 penalty."""
    average: Share = 0.0
    """Validated and kept is a running mean of the weights: this share of the former mean, the rest of what a step made.
    0: no mean."""


C = TypeVar("C", bound=TrainConfig)


def read_config(kind: type[C], file: PathLike | None = None, settings: Sequence[str] = ()) -> C:
    """The config in a TOML file, changed by settings `key=value`; what neither names has its default."""
    values: dict[str, Any] = {}
    if file is not None:
        text = utf8_without_bom(read_bytes(file), str(file)).decode()
        try:
            values = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise DataError(f"not TOML: {error}", file=str(file)) from None
    source = str(file) if file is not None else None
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals:
            raise DataError(f"a setting is KEY=VALUE, not {setting!r}")
        values[key.strip()] = _value(value.strip())
    return config_from(kind, values, source)


def config_from(kind: type[C], values: dict[str, Any], source: str | None = None) -> C:
    """The config with these values; unknown names and wrong types are errors."""
    known = [each.name for each in fields(kind)]
    for name in values:
        if name not in known:
            raise UnknownName(f"key in {source}" if source else "key of the config", name, known)
    try:
        return msgspec.convert(values, kind)
    except msgspec.ValidationError as error:
        raise DataError(f"the config is wrong: {error}".replace("$.", ""), file=source) from None


def config_to_dict(config: TrainConfig) -> dict[str, Any]:
    """As JSON has it; `config_from` reads it."""
    return dict(json.loads(json.dumps(asdict(config))))


def show_config(kind: type[TrainConfig]) -> str:
    """The config with its defaults as TOML, with a comment for each key."""
    about = {}
    for each in reversed(kind.__mro__):
        if issubclass(each, TrainConfig):
            about.update(_field_docs(each))
    lines = []
    for name, value in config_to_dict(kind()).items():
        lines += [f"# {line}" for line in textwrap.wrap(about.get(name, ""), 100)]
        lines.append(f"{name} = {json.dumps(value)}")  # numbers, texts, booleans and lists are written alike in TOML
    return "\n".join(lines)


def _value(text: str) -> Any:
    """As TOML reads it; what is no TOML value is a text, so that quotes are not needed."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _field_docs(kind: type) -> dict[str, str]:
    """The strings that stand below the fields of a dataclass."""
    body = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    assert isinstance(body, ast.ClassDef)
    docs = {}
    for field, below in pairwise(body.body):
        text = below.value if isinstance(below, ast.Expr) else None
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(text, ast.Constant):
            docs[field.target.id] = " ".join(str(text.value).split())
    return docs
