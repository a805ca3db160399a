"""Runs the steps of the Dockerfile where there is no container engine, and asks the server that they start.

    python tools/run_dockerfile.py BASE [FOLDER]

BASE is a root file system to begin with, such as `debootstrap --variant=minbase --include=python3.11,python3-distutils,
python3.11-venv,ca-certificates bookworm BASE` makes; it stays as it is. Every stage lives in a layer over it, in
FOLDER. RUN and CMD are run by chroot as they stand in the file, as the user that it names; so this needs root, on
Linux. Nothing is left behind.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).resolve().parents[1]
# How packages are fetched on this machine is no matter of the file.
_PASSED = ("PIP_", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy")
_LENT = ("/etc/resolv.conf", "/etc/hosts", "/etc/pip.conf", "/etc/ssl/certs", "/etc/apt/sources.list",
         "/etc/apt/sources.list.d", "/etc/apt/apt.conf.d")  # fmt: skip
_QUESTION = {
    "candidates": ["a man rides a bike down the street"],
    "references": [["a person is riding a bicycle", "a man on a bike"]],
}


def steps(text: str) -> list[tuple[str, str]]:
    """Instructions and what they say, lines that go on joined."""
    lines = re.sub(r"\\\n", " ", "\n".join(line for line in text.splitlines() if not line.startswith("#")))
    found = [line.split(None, 1) for line in lines.splitlines() if line.strip()]
    return [(word, rest.strip()) for word, rest in found]


class Stage:
    """A layer over the base, and what the instructions have set in it."""

    def __init__(self, base: Path, folder: Path) -> None:
        self.root, self._mounts = folder / "root", list[Path]()
        for name in ("upper", "work", "root"):
            (folder / name).mkdir(parents=True)
        layers = f"lowerdir={base},upperdir={folder / 'upper'},workdir={folder / 'work'}"
        self._mount("-t", "overlay", "overlay", "-o", layers, self.root)
        for name in ("proc", "dev"):
            self._mount("--bind", f"/{name}", self.root / name)
        lent = [*_LENT, *(os.environ.get(name, "") for name in ("PIP_FIND_LINKS", "PIP_CERT"))]
        for name in dict.fromkeys([*lent, *_local_folders()]):
            self._lend(Path(name))
        self.workdir, self.user = "/", "root"
        self.variables = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}
        # The image of Python has it under this name.
        (self.root / "usr/local/bin/python").symlink_to("/usr/bin/python3.11")

    def _mount(self, *what: object) -> None:
        subprocess.run(["mount", *map(str, what)], check=True)
        self._mounts.append(Path(str(what[-1])))

    def _lend(self, path: Path) -> None:
        """What this machine reaches packages by, in its place."""
        if not path.is_absolute() or not path.exists():
            return
        place = self.root / str(path).lstrip("/")
        if place.exists() and place.samefile(path):
            return  # in a folder that was lent
        if path.is_dir():
            place.mkdir(parents=True, exist_ok=True)
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.touch()
        self._mount("--bind", "-o", "ro", path, place)

    def begin(self, command: list[str], **more: Any) -> subprocess.Popen[str]:
        passed = {key: value for key, value in os.environ.items() if key.startswith(_PASSED)}
        home = "/root" if self.user == "root" else f"/home/{self.user}"
        inside = ["env", "-i", *(f"{k}={v}" for k, v in {**passed, **self.variables, "HOME": home}.items())]
        inside += ["sh", "-c", 'cd "$0" && exec "$@"', self.workdir, *command]
        return subprocess.Popen(["chroot", f"--userspec={self.user}", str(self.root), *inside], text=True, **more)

    def run(self, command: list[str]) -> None:
        if self.begin(command).wait():
            sys.exit(f"this step failed: {shlex.join(command)}")

    def copy(self, source: Path, names: list[str], target: str) -> None:
        place = self.root / (Path(self.workdir) / target).as_posix().lstrip("/")
        for name in names:
            found = source / name.lstrip("/")
            if found.is_dir():
                ignore = _ignored if source == SOURCE else None
                shutil.copytree(found, place, symlinks=True, dirs_exist_ok=True, ignore=ignore)
            else:
                shutil.copy2(found, place)

    def close(self) -> None:
        for each in reversed(self._mounts):
            subprocess.run(["umount", "--lazy", str(each)], check=False)


def _local_folders() -> list[str]:
    """Folders that pip is told to find packages in."""
    told = subprocess.run([sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True).stdout
    return re.findall(r"(?:file://|find-links=')(/[\w./-]+)", told)


def _ignored(folder: str, names: list[str]) -> set[str]:
    """As .dockerignore says; its patterns are names in the first folder."""
    if Path(folder) != SOURCE:
        return set()
    patterns = (SOURCE / ".dockerignore").read_text().split()
    return {name for name in names if any(fnmatch(name, pattern) for pattern in patterns)}


def build(base: Path, folder: Path, stages: dict[str, Stage]) -> tuple[Stage, list[str], list[str]]:
    """All stages; the last one, what it runs, and how its health is looked at."""
    current, command, health = None, list[str](), list[str]()
    for word, said in steps((SOURCE / "Dockerfile").read_text()):
        print(f"{word} {said}", file=sys.stderr)
        if word == "FROM":
            name = said.partition(" AS ")[2] or f"stage {len(stages)}"
            current = stages[name] = Stage(base, folder / str(len(stages)))
            continue
        assert current is not None
        if word == "RUN":
            current.run(["sh", "-c", said])
        elif word == "COPY":
            *names, target = [part for part in said.split() if not part.startswith("--")]
            given = re.search(r"--from=(\S+)", said)
            current.copy(stages[given[1]].root if given else SOURCE, names, target)
        elif word == "WORKDIR":
            current.workdir = said
            (current.root / said.lstrip("/")).mkdir(parents=True, exist_ok=True)
        elif word == "USER":
            current.user = said
        elif word == "ENV":
            for key, value in (part.split("=", 1) for part in said.split()):
                current.variables[key] = value.replace("$PATH", current.variables["PATH"])
        elif word == "CMD":
            command = json.loads(said)
        elif word == "HEALTHCHECK":
            health = json.loads(said.removeprefix("CMD"))
        elif word != "EXPOSE":
            sys.exit(f"{word} is not known here")
    assert current is not None
    return current, command, health


def ask(stage: Stage, command: list[str], health: list[str]) -> None:
    """Starts the server as the file says, and scores a caption by every text metric."""
    stage.variables["CAPEVAL_TOKEN"] = "secret"
    server = stage.begin(command, stderr=subprocess.PIPE)
    assert server.stderr is not None
    try:
        print(server.stderr.readline().replace("secret", "..."), end="", file=sys.stderr)
        user = Path(f"/proc/{server.pid}").stat().st_uid
        assert user == 10001, f"it runs as user {user}"
        stage.run(health)
        port = command[command.index("--port") + 1]
        url, body = f"http://127.0.0.1:{port}/v1/score", json.dumps(_QUESTION).encode()
        kind = {"content-type": "application/json"}
        assert status(urllib.request.Request(url, body, kind)) == 401, "it answers without a token"
        wanted = urllib.request.Request(url, body, {**kind, "authorization": "Bearer secret"})
        with urllib.request.urlopen(wanted, timeout=300) as answer:
            scores = json.load(answer)["scores"]
        assert {"bleu_4", "spice_fast", "unified(pictures=none)"} <= set(scores), scores
        print(f"it runs as user {user}, is in health, asks for its token and gives {len(scores)} scores")
    finally:
        server.terminate()
        print(f"it ends with {server.wait(60)}")


def status(wanted: urllib.request.Request) -> int:
    try:
        with urllib.request.urlopen(wanted, timeout=60) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as refused:
        return refused.code


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("base", type=Path)
    parser.add_argument("folder", type=Path, nargs="?")
    given = parser.parse_args()
    folder, stages, begin = Path(tempfile.mkdtemp(dir=given.folder)), dict[str, Stage](), time.monotonic()
    try:
        ask(*build(given.base.resolve(), folder, stages))
        print(f"all steps of the Dockerfile took {time.monotonic() - begin:.0f} s")
    finally:
        for stage in stages.values():
            stage.close()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
