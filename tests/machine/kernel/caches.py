"""An empty cache for kernels that tests build, beside the user's own locked compiler."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.base.building import Silent
from lab.machine.userland.builder import build

HEAD = """\
VERSION = 7
PATCHLEVEL = 2
SUBLEVEL = 1
allnoconfig:
\tcp $(KCONFIG_ALLCONFIG) .config
prepare net/socket.o:
\t@true
"""  # of the Makefile of a small tree in a kernel's place; `linux:` makes the kernel


def another_cache(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the lab keep in `place` what it makes, with the compiler that is there already."""
    compiler = build("compiler", Silent())
    userlands = place / "replab" / "userlands"
    userlands.mkdir(parents=True)
    (userlands / compiler.id).symlink_to(compiler.tree.parent)
    monkeypatch.setenv("XDG_CACHE_HOME", str(place))
