"""The wheel holds all that the lab needs: installed alone, far from any checkout, it works in an empty folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.cli import listing

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[1]
SAID = "import lab, json, sys; print(json.dumps([lab.__file__, *sys.path]))"

Type = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel as a builder makes it."""
    to = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", to], cwd=ROOT, check=True)
    (file,) = to.glob("*.whl")
    return file


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with the wheel and what it depends on, but no editable checkout."""
    home = tmp_path_factory.mktemp("installed")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", home], check=True)
    (site,) = home.glob("lib/python*/site-packages")
    zipfile.ZipFile(wheel).extractall(site)
    # A path in a .pth file is searched; the .pth files there, an editable checkout's for one, are not read.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return home / "bin" / "python"


@pytest.fixture
def lab(python: Path, tmp_path: Path) -> Type:
    """Runs `lab` as installed, in an empty folder."""
    here = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "LAB_"))}
    here["JUPYTER_PATH"] = f"{sysconfig.get_path('data')}/share/jupyter"  # where what it depends on is installed

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        start = [str(python), "-c", "from lab.cli import main; main()"]
        return subprocess.run([*start, *arguments], cwd=tmp_path, env=here, capture_output=True, text=True, timeout=400)

    return run


def test_nothing_of_the_checkout_is_on_the_path(python: Path, tmp_path: Path) -> None:
    done = subprocess.run([python, "-I", "-c", SAID], cwd=tmp_path, capture_output=True, text=True, check=True)
    module, *path = json.loads(done.stdout)
    assert Path(module).is_relative_to(python.parents[1])
    assert not [each for each in path if Path(each or tmp_path) in (ROOT, *ROOT.glob("*/"))]


def test_it_has_every_claim_topology_and_notebook(lab: Type, wheel: Path) -> None:
    there = json.loads(lab("list", "--json").stdout)
    here, _ = listing.everything()
    assert {key: there[key] for key in ("articles", "claims", "topologies")} == {
        key: here[key] for key in ("articles", "claims", "topologies")
    }
    names = zipfile.ZipFile(wheel).namelist()
    for kind in ("notebooks", "experiments", "packs", "topologies"):
        shipped = {f"lab/share/{kind}/{path.relative_to(ROOT / kind)}" for path in _kept(ROOT / kind)}
        assert {name for name in names if name.startswith(f"lab/share/{kind}/")} == shipped
    assert {
        f"lab/machine/kernel/uml/patches/{path.name}" for path in (ROOT / "lab/machine/kernel/uml/patches").iterdir()
    } < set(names)
    assert "lab/machine/kernel/uml/shared-clock.patch" in names
    assert [name for name in names if name.endswith("share/man/man1/lab.1")]


def _kept(folder: Path) -> list[Path]:
    """The files there that git keeps; all of them outside of a checkout."""
    listed = subprocess.run(["git", "ls-files", "-z", "."], cwd=folder, capture_output=True, text=True)
    named = [folder / name for name in listed.stdout.split("\0") if name]
    return named or [path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts]


def test_two_builds_are_the_same(wheel: Path, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path], cwd=ROOT, check=True)
    assert (tmp_path / wheel.name).read_bytes() == wheel.read_bytes()


def test_a_claim_of_ones_own_starts_there(lab: Type) -> None:
    assert lab("new", "mine/first").returncode == 0
    assert lab("check", "experiments/mine/first.py").returncode == 0


@pytest.mark.guest
def test_it_runs_judges_shows_and_repeats(lab: Type, tmp_path: Path) -> None:
    works = lab("doctor", "--json")
    assert works.returncode == 0, works.stdout
    ran = lab("run", "tcp-timestamps/header-length", "--json")
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["claims"][0]["verdict"] == "reproduced"
    again = lab("verify")
    assert again.returncode == 0, again.stderr
    assert "identical" in again.stdout
    shown = lab("report", "--json")
    assert shown.returncode == 0, shown.stderr
    pages = json.loads(shown.stdout)["pages"]
    assert "reproduced" in (tmp_path / "report" / "tcp-timestamps.html").read_text()
    assert {Path(page).stem for page in pages} == {"tcp-timestamps"}, "what has no records has no page"
