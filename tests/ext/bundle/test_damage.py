"""A bundle whose bytes are others starts nothing and leaves nothing, however often its whole self was used before."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest
import typer

import lab
from lab.base.building import Silent
from lab.ext.bundle import program, reader, unbundling, writer
from lab.ext.bundle.crate import About
from lab.ext.bundle.errors import BundleError
from lab.ext.bundle.part import Part
from tests.ext.bundle.test_file import ALL, entry, forged

ABOUT = About("a kernel", "that does not start", "2026-01-02", "0.1.0")


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """A bundle with the lab's own start, and a Python that only says that it was started."""
    tree, shipped, kernel = tmp_path / "tree", tmp_path / "shipped", tmp_path / "kernel"
    python = tree / "usr" / "launch" / "python3"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\necho started\n")
    python.chmod(0o755)
    for name in ("experiments", "notebooks", "packs", "topologies"):
        (shipped / name).mkdir(parents=True)
    kernel.mkdir()
    (kernel / "linux").write_bytes(os.urandom(50_000))
    program.make(tmp_path / "program.zip", tree, Path(lab.__file__).parent, shipped)
    writer.write(
        tmp_path / "claims.tar.zst", [Part("kernels/1", kernel, "a kernel")], ABOUT, tmp_path / "program.zip", Silent()
    )
    return tmp_path / "claims.tar.zst"


@pytest.fixture
def lab_alone(tmp_path: Path) -> Path:
    """The program of a bundle, whose Python is ours and finds the packages that we have, but not our lab."""
    tree, shipped, packages = tmp_path / "tree", tmp_path / "shipped", tmp_path / "packages"
    packages.mkdir()
    for each in Path(typer.__file__).parents[1].iterdir():
        if "replab" not in each.name and not each.name.endswith(".pth"):
            (packages / each.name).symlink_to(each)
    python = tree / "usr" / "launch" / "python3"
    python.parent.mkdir(parents=True)
    own = f"import sys; sys.path.append({str(packages)!r}); del sys.argv[:2]; exec(sys.argv[0])"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -S -c "{own}" "$@"\n')
    python.chmod(0o755)
    for name in ("experiments", "notebooks", "packs", "topologies"):
        (shipped / name).mkdir(parents=True)
    program.make(tmp_path / "program.zip", tree, Path(lab.__file__).parent, shipped)
    return tmp_path / "program.zip"


@pytest.mark.long
def test_its_lab_knows_its_version(lab_alone: Path) -> None:
    out = lab_alone.with_name("claims.tar.zst")
    writer.write(out, [], ABOUT, lab_alone, Silent())
    environment = {**os.environ, "XDG_CACHE_HOME": str(out.parent / "cache")}
    done = subprocess.run([sys.executable, "-I", out, "--version"], capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stdout) == (0, f"replab {version('replab')}\n"), done.stderr


def start(file: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "XDG_CACHE_HOME": str(file.parent / "cache")}
    return subprocess.run([sys.executable, "-I", file, "verify"], capture_output=True, text=True, env=environment)


def where(file: Path, inside: str) -> int:
    """The place of the middle of what is packed of a file in the program."""
    with zipfile.ZipFile(file) as zipped:
        found = zipped.getinfo(inside)
        return found.header_offset + 30 + len(inside) + found.compress_size // 2


def flip(file: Path, at: int) -> Path:
    whole = bytearray(file.read_bytes())
    whole[at] ^= 0x10
    damaged = file.with_name("damaged.tar.zst")
    damaged.write_bytes(whole)
    return damaged


@pytest.mark.long
@pytest.mark.parametrize(
    "inside", ["lab/cli/output.py", "lab/ext/bundle/start.py", "lab/base/owner.py", "root/usr/launch/python3"]
)
def test_a_program_with_a_wrong_bit_starts_nothing(bundle: Path, inside: str) -> None:
    done = start(flip(bundle, where(bundle, inside)))
    assert (done.returncode, done.stdout) == (1, ""), done
    assert "damaged.tar.zst is damaged: " in done.stderr
    assert "Traceback" not in done.stderr
    assert list(bundle.parent.glob("cache/replab/labs/*")) == []


def test_a_wrong_mode_in_the_programs_directory_is_not_kept(bundle: Path) -> None:
    whole = bundle.read_bytes()
    name = b"root/usr/launch/python3"
    damaged = flip(bundle, whole.rindex(name) - 46 + 40)  # of the entry's external attributes
    assert start(damaged).returncode == 1
    done = start(bundle)
    assert (done.returncode, done.stdout) == (0, "started\n"), done.stderr
    assert start(bundle).stdout == "started\n"


def test_what_was_taken_before_is_checked_again(bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert unbundling.ready(bundle) == unbundling.ready(bundle)
    with zipfile.ZipFile(bundle) as zipped:
        at = min(each.header_offset for each in zipped.infolist()) - 1000  # in the kernel, which is packed before
    damaged = flip(bundle, at)
    for use in (unbundling.ready, unbundling.take):
        with pytest.raises(BundleError, match=r"damaged\.tar\.zst: damaged"):
            use(damaged)


@pytest.mark.parametrize("date", ["nan", "inf", "1e300", "-1e300", "9" * 400])
def test_a_date_that_is_none_is_refused(tmp_path: Path, date: str) -> None:
    with zipfile.ZipFile(tmp_path / "program.zip", "w") as zipped:
        zipped.writestr("__main__.py", "")
        zipped.comment = b"0" * 64
    member = entry("userlands/1/a")
    member.pax_headers = {"mtime": date}
    with pytest.raises(BundleError, match="as its mtime"):
        reader.unpack(forged(tmp_path / "forged", tmp_path / "program.zip", [(member, b"x")]), tmp_path / "out", ALL)
