"""tools/provision asks for nothing but Python and its venv; what lacks is one line."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[1] / "tools" / "provision"
OLD = """#!/bin/sh
exit 1
"""
BARE = """#!/bin/sh
case "$2" in *ensurepip*) exit 1 ;; esac
"""


def provision(folder: Path, *arguments: str, python: str = "", path: str = "") -> tuple[int, list[str]]:
    """The exit code and the lines that a copy of it in `folder` says, with that interpreter and search path."""
    (folder / "tools").mkdir(exist_ok=True)
    shutil.copy(TOOL, folder / "tools")
    here = {**os.environ, "PYTHON": python, **({"PATH": path} if path else {})}
    done = subprocess.run(
        ["/bin/sh", "tools/provision", *arguments], cwd=folder, env=here, capture_output=True, text=True
    )
    return done.returncode, done.stderr.splitlines()


def program(folder: Path, text: str) -> str:
    file = folder / "python"
    file.write_text(text)
    file.chmod(0o755)
    return str(file)


@pytest.mark.parametrize("kind", ["run", "notebooks", "site", "test"])
def test_a_python_that_is_too_old_is_one_line(tmp_path: Path, kind: str) -> None:
    old = program(tmp_path, OLD)
    code, said = provision(tmp_path, kind, python=old)
    assert (code, len(said)) == (3, 1)
    assert f"no Python 3.11 or newer at {old}" in said[0]


def test_a_python_without_venv_is_one_line(tmp_path: Path) -> None:
    bare = program(tmp_path, BARE)
    code, said = provision(tmp_path, python=bare)
    assert (code, len(said)) == (3, 1)
    assert f"{bare} has no venv: install it (Debian, Ubuntu: apt-get install python3-venv)" in said[0]


@pytest.mark.parametrize("kind", ["base", "host"])
def test_the_distributions_programs_are_another_step(tmp_path: Path, kind: str) -> None:
    """Only such a step asks for the distribution's installer."""
    (tmp_path / "bin").mkdir()
    for name in ("dirname", "cat"):
        (tmp_path / "bin" / name).symlink_to(shutil.which(name) or "")
    code, said = provision(tmp_path, kind, path=str(tmp_path / "bin"))
    assert (code, said) == (3, ["provision: there is no apt-get: this needs Debian or Ubuntu"])


def test_an_unknown_step_is_refused(tmp_path: Path) -> None:
    assert provision(tmp_path, "all") == (
        2,
        ["provision: 'all' is none of run, notebooks, site, test, base, host and cluster"],
    )


FAKE = """#!/bin/sh
case "$*" in
    *"config list"*) cat "$TOLD" ;;
    *"-m venv"*) mkdir -p .venv/bin && cp "$0" .venv/bin/python ;;
    *--target*) mkdir -p build/installer/bin && cp "$0" build/installer/bin/uv && echo fetched >>"$DONE" ;;
    *compileall*) ;;
    "pip install"*) echo "uv: $UV_DEFAULT_INDEX" >>"$DONE" && [ -z "$LACKS" ] ;;
    *install*) echo pip >>"$DONE" ;;
esac
"""


@pytest.mark.parametrize(
    ("told", "lacks", "done"),
    [
        ("", "", ["fetched", "uv: "]),
        ("global.index-url='https://a/simple'\n", "", ["fetched", "uv: https://a/simple"]),
        (":env:.index-url='https://b/simple'\nglobal.index-url='https://a'\n", "", ["fetched", "uv: https://b/simple"]),
        ("global.timeout='180'\nglobal.extra-index-url='https://a'\n", "", ["pip"]),
        ("global.index-url='https://a https://b'\n", "", ["pip"]),
        ("", "packages", ["fetched", "uv: ", "pip"]),
    ],
)
def test_packages_come_from_where_pip_is_told_to_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: str, lacks: str, done: list[str]
) -> None:
    """What uv does not know, or cannot do, pip does."""
    (tmp_path / "told").write_text(told)
    for name in ("pyproject.toml", "requirements.lock"):
        (tmp_path / name).touch()
    monkeypatch.delenv("UV_DEFAULT_INDEX", raising=False)
    monkeypatch.setenv("TOLD", str(tmp_path / "told"))
    monkeypatch.setenv("DONE", str(tmp_path / "done"))
    monkeypatch.setenv("LACKS", lacks)
    code, said = provision(tmp_path, python=program(tmp_path, FAKE))
    assert (code, len(said)) == (0, 2)
    assert (tmp_path / "done").read_text().splitlines() == done
    assert not (tmp_path / "build/installer").exists()
