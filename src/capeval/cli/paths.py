"""What commands read and write, as the types of their options say, so that no command writes over what it reads.

Every option or argument that names a file has one of three types: `Reads`, `Writes` or `WritesInto`. `Command`, the
class of all commands, looks at them before any work is done.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, NamedTuple

import click

from capeval.errors import CapevalError, DataError
from capeval.io.files import PathLike

Files = Callable[[str, Mapping[str, Any]], Iterable[PathLike]]


# How files of a form end.
FORMS = {
    "HTML": (".html", ".htm"),
    "JSON": (".json",),
    "JSONL": (".jsonl", ".ndjson"),
    "JSONL, unless the name ends in .csv or .tsv": (".jsonl", ".ndjson", ".csv", ".tsv"),
    "LaTeX": (".tex",),
    "Markdown": (".md", ".markdown"),
    "a NumPy archive": (".npz",),
}


class Reads(click.types.StringParamType):
    """Names something to read; - is standard input.

    `files` tells which files are read, by the value and all parameters of the command. Without it: the one named.
    """

    def __init__(self, files: Files = lambda value, _: (value,)) -> None:
        self.files = files


class Writes(click.types.StringParamType):
    """Names a file to write; - is standard output. Whether it can be written is checked before any work is done."""

    def __init__(self, *, beside: bool = False, form: str = "") -> None:
        self.beside = beside
        """Whether standard output has the result, so that this needs a file."""
        self.form = form
        """What is written, whatever the file is called; one of `FORMS`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        path = super().convert(value, param, ctx)
        if path == "-":
            if self.beside and param is not None:
                raise click.UsageError(f"{param.opts[0]} needs a file: standard output has the result")
            return path
        folder = os.path.dirname(path) or "."
        if os.path.isdir(path):
            raise DataError("cannot be written: it is a folder", file=path)
        if not os.path.isdir(folder):
            raise DataError(f"cannot be written: there is no folder {folder}", file=path)
        if not os.access(path if os.path.exists(path) else folder, os.W_OK):
            raise DataError("cannot be written: no permission", file=path)
        ending = Path(path.lower().removesuffix(".gz")).suffix
        if self.form and ending and ending not in FORMS[self.form]:
            click.echo(f"{path}: what is written is {self.form}, whatever {ending} stands for.", err=True)
        return path


class WritesInto(click.types.StringParamType):
    """Names a folder to write files into, whose names are like `names`."""

    def __init__(self, *names: str) -> None:
        self.names = names

    def has(self, name: str) -> bool:
        return any(fnmatch(name, each) for each in self.names)


class Command(click.Command):
    """A command that is refused where it would write over what it reads, or write one file twice."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, files_after_references(self, args))

    def invoke(self, ctx: click.Context) -> Any:
        refuse_overwriting(self, ctx.params)
        return super().invoke(ctx)


class Group(click.Group):
    command_class = Command


def files_after_references(command: click.Command, args: Sequence[str]) -> list[str]:
    """`-r a -r b` for `-r a b`, as the shell makes it of `-r ref*.txt`, once all arguments of the command are there."""
    options = {name: each for each in command.params if isinstance(each, click.Option) for name in each.opts}
    arguments = [each for each in command.params if isinstance(each, click.Argument)]
    if any(each.nargs != 1 for each in arguments) and command.name != "score":  # what follows may be theirs
        return list(args)
    written: list[str] = []
    places, rest = 0, list(args)
    while rest:
        word = rest.pop(0)
        written.append(word)
        if word == "--":
            return [*written, *rest]
        option = options.get(word)
        if option is None:
            places += not (word.startswith("-") and word != "-")
        elif not option.is_flag and rest:
            written.append(rest.pop(0))
            while option.name == "references" and places >= len(arguments) and rest and not rest[0].startswith("-"):
                written += [word, rest.pop(0)]
    return written


class _Output(NamedTuple):
    option: str
    path: str


def refuse_overwriting(command: click.Command, params: Mapping[str, Any]) -> None:
    read, written = _of_type(command, params, Reads), _of_type(command, params, Writes)
    if [value for _, value in read].count("-") > 1:
        raise click.UsageError("only one input can come from standard input (-)")
    if [value for _, value in written].count("-") > 1:
        raise click.UsageError("only one output can go to standard output (-)")
    outputs: dict[object, _Output] = {_identity(sys.stdout): _Output("standard output", "-")}
    for param, value in written:
        _add(outputs, _Output(_name(param), value))
    for param, folder in _of_type(command, params, WritesInto):
        _add_folder(outputs, _name(param), folder, param.type)
    there: dict[object, _Output] = {key: each for key, each in outputs.items() if isinstance(key, tuple)}
    if not there:
        return  # no file is replaced, so the files below folders need not be looked at
    for param, value in read:
        for path in param.type.files(value, params):
            if output := there.get(_identity(sys.stdin if path == "-" else path)):
                shown = path if output.path == "-" else output.path
                raise click.UsageError(
                    f"{output.option} would write over {os.fspath(shown)}, which {_name(param)} reads. "
                    "Name another file to write"
                )


def _of_type(command: click.Command, params: Mapping[str, Any], kind: type) -> list[tuple[Any, str]]:
    """The parameters of a type with their values; one that may be given several times, several times."""
    found = []
    for param in command.params:
        value = params.get(param.name or "")
        if isinstance(param.type, kind) and value is not None:
            found += [(param, each) for each in (value if isinstance(value, tuple) else (value,))]
    return found


def _name(param: click.Parameter) -> str:
    return max(param.opts, key=len) if isinstance(param, click.Option) else param.human_readable_name.strip("[].")


def _identity(file: Any) -> object:
    """The same for all paths of a file, and a tuple where the file is there. None is like nothing else: devices and
    pipes are not written over."""
    try:
        found = os.fstat(file.fileno()) if hasattr(file, "fileno") else os.stat(file)
    except FileNotFoundError:
        return os.path.realpath(file)
    except (OSError, ValueError, TypeError):  # a path that is none, or a stream that is closed or has no file
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) else None


def _add(outputs: dict[object, _Output], output: _Output) -> None:
    key = None if output.path == "-" else _identity(output.path)
    other = outputs.setdefault(key, output)
    if key is not None and other.option != output.option:  # links inside one folder are the user's own
        raise click.UsageError(
            f"{other.option} and {output.option} would write the same file, {output.path}. Name two files"
        )


def _add_folder(outputs: dict[object, _Output], option: str, folder: str, kind: WritesInto) -> None:
    """The files that are there already and may be written again; and whether another output is to be among them."""
    for other in list(outputs.values()):
        inside = os.path.realpath(os.path.dirname(other.path) or ".") == os.path.realpath(folder)
        if inside and kind.has(os.path.basename(other.path)):
            raise click.UsageError(
                f"{other.option} and {option} might write the same file, {other.path}. Name another file or folder"
            )
    if os.path.isdir(folder):
        for name in filter(kind.has, os.listdir(folder)):
            _add(outputs, _Output(option, os.path.join(folder, name)))


# Which files are read, where it is not the one that is named.


def no_files(value: str, params: Mapping[str, Any]) -> Iterable[PathLike]:
    return ()


def pictures_below(value: str, params: Mapping[str, Any]) -> Iterator[PathLike]:
    from capeval.runtime.extract import ENDINGS

    for folder, _, names in os.walk(value):
        yield from (Path(folder, name) for name in names if Path(name).suffix.lower() in ENDINGS)


def feature_files(value: str, params: Mapping[str, Any]) -> Iterable[PathLike]:
    """A file of features, and the ids that may lie beside it."""
    return value, Path(value).with_suffix(".ids.txt"), Path(value).with_suffix(".ids.json")


def checkpoint_files(value: str, params: Mapping[str, Any]) -> Iterable[PathLike]:
    from capeval.runtime.checkpoint import CONFIG, read_config_file

    try:
        names = read_config_file(Path(value)).get("files", ())
    except CapevalError:
        return ()  # the name of one in the package, or what is wrong with the folder is reported when it is opened
    return [Path(value, name) for name in (CONFIG, *names)]


def metric_files(value: str, params: Mapping[str, Any]) -> Iterator[PathLike]:
    """Files and folders that parameters of a metric name, such as `df`."""
    from capeval.registry import parse_all
    from capeval.types import parameters_of

    try:
        metrics = [selection.metric for selection in parse_all(value)]
    except CapevalError:
        return  # what is wrong with it is reported with all others
    for metric in metrics:
        for field in parameters_of(metric):
            text = getattr(metric, field.name)
            if isinstance(text, str) and text != field.default:
                yield text
                yield from checkpoint_files(text, params)
