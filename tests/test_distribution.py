"""What people install: one version number, and the contents of sdist and wheels.

The wheel here is made without the compiled engine, which takes a minute; `make wheel` makes it whole and tests it.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_string
from email.message import Message
from pathlib import Path

import pytest

from capeval.version import __version__

WEIGHTS = {
    "models": ("capeval_models", {"dinov2-s", "lite0", "lece", "scan", "uice", "nneval", "captioner"}),
    "unified": ("capeval_models_unified", {"accord", "meaning", "fluency", "sight", "sight-words", "unified"}),
}
ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "capeval"

pytestmark = pytest.mark.skipif(not (ROOT / "packages").is_dir(), reason="only in a checkout")


# Compressing takes longer than all the rest, and tells nothing.
STORE = "import sys, zlib; zlib.Z_DEFAULT_COMPRESSION = 0; "


def build(code: str, folder: Path, where: Path) -> Path:
    """What a build backend makes, in a process of its own: it changes the working folder, and prints."""
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)], cwd=where, capture_output=True, text=True, check=False
    )
    if "ModuleNotFoundError" in done.stderr:
        pytest.skip("the packages that build capeval are not installed; the extra dev has them")
    assert done.returncode == 0, done.stderr
    return next(folder.iterdir())


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> tuple[set[str], Message]:
    folder = tmp_path_factory.mktemp("sdist")
    code = "import sys; from scikit_build_core.build import build_sdist; build_sdist(sys.argv[1])"
    path = build(code, folder, ROOT)
    top = path.name.removesuffix(".tar.gz")
    with tarfile.open(path) as archive:
        info = archive.extractfile(f"{top}/PKG-INFO")
        assert info is not None
        names = {name.removeprefix(f"{top}/") for name in archive.getnames()}
        return names, message_from_string(info.read().decode())


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    folder = tmp_path_factory.mktemp("wheel")
    settings = "{'wheel.cmake': 'false'}"
    code = STORE + f"from scikit_build_core.build import build_wheel; build_wheel(sys.argv[1], {settings})"
    with zipfile.ZipFile(build(code, folder, ROOT)) as archive:
        assert sum(each.file_size for each in archive.infolist()) < 40e6, "the base install is meant to be small"
        return set(archive.namelist())


def in_package(*endings: str) -> set[str]:
    """The files of the package that are under version control, as far as they are of these kinds."""
    listed = subprocess.run(["git", "ls-files", "src/capeval"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("only in a git checkout")
    files = [line.removeprefix("src/") for line in listed.stdout.splitlines() if (ROOT / line).is_file()]
    return {name for name in files if not endings or name.endswith(endings)}


def test_the_wheel_has_the_package_and_nothing_else(wheel: set[str]) -> None:
    code = in_package(".cpp", ".hpp")
    inside = {name for name in wheel if not name.split("/")[0].endswith(".dist-info")}
    assert in_package() - code <= inside
    assert {name for name in inside if not name.startswith("capeval/")} == set()
    assert not {name for name in inside if name.endswith((".cpp", ".hpp", ".pyc", ".jar", ".pkl"))}
    licences = {name.rsplit("/", 1)[1] for name in wheel if "/licenses/" in name}
    assert licences == {"LICENSE", "NOTICE"}


def test_the_sdist_can_be_built_and_tested(sdist: tuple[set[str], Message]) -> None:
    names, _ = sdist
    assert {f"src/{name}" for name in in_package()} <= names
    assert {"CMakeLists.txt", "pyproject.toml", "README.md", "LICENSE", "NOTICE", "tests/conftest.py"} <= names
    hidden = {name for name in names if name.split("/")[0].startswith(".")}
    assert not hidden
    assert not {name for name in names if name.startswith("packages/")}, "the weights have a distribution of their own"


def test_metadata(sdist: tuple[set[str], Message]) -> None:
    _, metadata = sdist
    assert metadata["Version"] == __version__
    assert metadata["Requires-Python"] == ">=3.10"
    urls = dict(line.split(", ") for line in metadata.get_all("Project-URL", []))
    assert {"Homepage", "Documentation", "Issues", "Changelog"} <= set(urls)
    page = metadata.get_payload()
    assert page.startswith("# capeval")
    relative = [link for link in re.findall(r"\]\(([^)]+)\)", page) if not link.startswith("https://")]
    assert relative == [], "on a page elsewhere they lead nowhere"


def test_one_version_number(tmp_path: Path) -> None:
    """That of capeval is the one that the weights have and ask for, and the one that people cite."""
    pytest.importorskip("hatchling")
    code = "import sys; from hatchling.build import prepare_metadata_for_build_wheel as make; make(sys.argv[1])"
    for package in WEIGHTS:
        (tmp_path / package).mkdir()
        folder = build(code, tmp_path / package, ROOT / "packages" / package)
        assert message_from_string((folder / "METADATA").read_text("utf-8"))["Version"] == __version__
    assert f"version: {__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")
    minor = __version__.rsplit(".", 1)[0]
    for name in ("capeval-models", "capeval-models-unified"):
        assert f"{name}~={minor}.0" in (ROOT / "pyproject.toml").read_text("utf-8")
    # Nowhere else is it written down by hand.
    for name in ("pyproject.toml", *(f"packages/{package}/pyproject.toml" for package in WEIGHTS)):
        assert not re.search(r"^version\s*=", (ROOT / name).read_text("utf-8"), re.MULTILINE)


@pytest.mark.parametrize("package", WEIGHTS)
def test_the_weights_have_all_that_the_table_lists_and_fit_a_wheel(package: str) -> None:
    builder = pytest.importorskip("hatchling.builders.wheel").WheelBuilder(str(ROOT / "packages" / package))
    files = {each.distribution_path: Path(each.path) for each in builder.recurse_included_files()}
    folders = {name.split("/")[1] for name in files if name.count("/") > 1}
    module, wanted = WEIGHTS[package]
    assert wanted <= folders
    assert {name.split("/")[0] for name in files} == {module}
    assert max(path.stat().st_size for path in files.values()) <= 25 * 2**20
    assert sum(path.stat().st_size for path in files.values()) < 100e6
