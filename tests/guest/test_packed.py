"""Modules that Python finds in one file: the same as along its path, of which the rest comes as ever."""

from __future__ import annotations

import importlib.util
import json
import marshal
import subprocess
import sys
from pathlib import Path

import pytest

from lab.guest import packed

LOOK = "import {names}, json; print(json.dumps([[m.__name__, m.__file__, m.__package__, m.VALUE] for m in ({names},)]))"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return a folder with the package `outer`, its module `inner` and, packed with other values, both of them."""
    (tmp_path / "outer").mkdir()
    index: dict[str, packed.Entry] = {}
    codes = b""
    for name, file, package in (("outer", "outer/__init__.py", True), ("outer.inner", "outer/inner.py", False)):
        (tmp_path / file).write_text("VALUE = 'path'\n")
        code = marshal.dumps(compile("VALUE = 'pack'", str(tmp_path / file), "exec"))
        index[name] = (str(tmp_path / file), package, len(codes), len(code))
        codes += code
    library = importlib.util.find_spec("_ctypes")
    assert library is not None
    assert library.origin is not None
    index["_ctypes"] = (library.origin, False, 0, 0)
    (tmp_path / "outer" / "other.py").write_text("VALUE = 'path'\n")
    (tmp_path / packed.PACK).write_bytes(packed.pack(index, codes))
    return tmp_path


def look(place: Path, names: str) -> list[list[str]]:
    """Return (name, file, package, VALUE) of modules, seen by a Python whose sitecustomize is in `place`."""
    (place / "sitecustomize.py").write_bytes(Path(packed.__file__).read_bytes())
    command = [sys.executable, "-S", "-B", "-c", "import sitecustomize; " + LOOK.format(names=names)]
    done = subprocess.run(command, env={"PYTHONPATH": str(place)}, capture_output=True, text=True, check=True)
    found: list[list[str]] = json.loads(done.stdout)
    return found


def test_they_are_what_the_path_would_have_found(place: Path) -> None:
    seen = look(place, "outer, outer.inner, outer.other")
    (place / packed.PACK).unlink()
    expected = look(place, "outer, outer.inner, outer.other")
    assert [each[:3] for each in seen] == [each[:3] for each in expected]
    assert [each[3] for each in seen] == ["pack", "pack", "path"]
    assert [each[3] for each in expected] == ["path", "path", "path"]


def test_a_library_is_loaded_from_where_it_lies(place: Path) -> None:
    (place / "user.py").write_text("import _ctypes\nVALUE = _ctypes.__loader__.__class__.__name__\n")
    assert look(place, "user")[0][3] == "ExtensionFileLoader"
