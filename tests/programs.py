"""Hold each test to the programs that it names: `pytest --programs` fails a test that starts another one.

What a test does not start it does not miss, so that one run shows for every program at once that tests pass without it
or are skipped by its name. An audit hook hears of what Python starts. What another program starts goes through a script
of its name, first in the PATH, that notes it.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from lab.machine.kernel import guest
from lab.machine.kernel.root import Root
from lab.machine.kernel.vm import preload, qemu
from lab.machine.kernel.vm import root as initramfs
from lab.runner import tools

SEARCH = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"
# What a machine may lack: programs of the packages that `tools/provision host` installs.
LACKING = (
    "brctl busybox cc chromium ethtool fping gcc git gpg gpgv ip ip6tables iperf iperf3 iptables man mn mnexec nc "
    "nc.openbsd netperf netserver nft ping qemu-img qemu-system-x86_64 qperf ss sysctl tc tcpdump tshark vagrant "
    "wireshark zstd"
)
OPTIONAL = frozenset(LACKING.split())
REMEMBERED = (tools._version, qemu.version, preload.library, initramfs.archive)  # by the first test that starts it
NEEDS, TRIES = "needs", "tries"


def named(item: pytest.Item, *markers: str) -> dict[str, None]:
    """Return the programs that a test names in these markers, in order."""
    return dict.fromkeys(program for name in markers for mark in item.iter_markers(name) for program in mark.args)


def missing(item: pytest.Item) -> list[str]:
    """Return the programs that a test needs and this machine lacks."""
    return [program for program in named(item, NEEDS) if shutil.which(program, path=SEARCH) is None]


class Recorder:
    """Note the programs that each test starts, by itself or by fixtures that it shares with others."""

    def __init__(self) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="programs")
        self.scripts, self.log = Path(self.folder.name, "bin"), Path(self.folder.name, "started")
        self.heard: set[str] = set()
        self.test: set[str] = set()
        self.fixtures: dict[Any, set[str]] = {}
        self.log.touch()
        self.scripts.mkdir()
        for name in OPTIONAL:
            if (real := shutil.which(name, path=SEARCH)) is not None:
                script = self.scripts / name
                script.write_text(f'#!/bin/sh\necho {name} >> {shlex.quote(str(self.log))}\nexec {real} "$@"\n')
                script.chmod(0o755)
        os.environ["PATH"] = f"{self.scripts}:{os.environ.get('PATH', os.defpath)}"
        self.folders = {*SEARCH.split(":"), str(self.scripts)}  # a userland has programs of the same names
        sys.addaudithook(self._audit)
        self._write_boot = guest._write_boot
        guest._write_boot = self._guest

    def _guest(
        self, scratch: Path, command: Sequence[str], environment: Mapping[str, str], terminal: bool, root: Root
    ) -> None:
        """Take every word of a guest's command for a program, where it sees the machine's: nothing else tells."""
        if root.code is None:
            self.heard |= OPTIONAL & {*re.findall(r"[\w.-]+", " ".join(command))}
        self._write_boot(scratch, command, environment, terminal, root)

    def _audit(self, event: str, args: tuple[Any, ...]) -> None:
        if event in ("subprocess.Popen", "os.exec", "os.posix_spawn") and not isinstance(args[0], int):
            folder, name = os.path.split(os.fsdecode(args[0]))
            if name in OPTIONAL and not folder:  # a test may have put one of its own in the PATH
                folder = str(Path(shutil.which(name, path=(args[-1] or os.environ).get("PATH")) or "").parent)
            if name in OPTIONAL and folder in self.folders:
                self.heard.add(name)

    def take(self) -> set[str]:
        """Return what was started since the last call."""
        started = self.heard | set(self.log.read_text().split())
        self.heard.clear()
        os.truncate(self.log, 0)
        return started

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Generator[None, object, object]:
        self.test |= self.take()
        try:
            return (yield)
        finally:
            own = self.take()
            self.test |= own
            if fixturedef.scope != "function":  # every test that has it needs what it started once
                self.fixtures.setdefault(fixturedef, set()).update(own)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self) -> Generator[None, object, object]:
        self.take()
        self.test.clear()
        for remembered in REMEMBERED:
            remembered.cache_clear()
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        result = yield
        self.test |= self.take()
        for found in item._fixtureinfo.name2fixturedefs.values():  # type: ignore[attr-defined]  # pytest has no other way
            self.test.update(*(self.fixtures.get(each, ()) for each in found))
        if unnamed := self.test - named(item, NEEDS, TRIES).keys():
            names = ", ".join(f'"{name}"' for name in sorted(unnamed))
            pytest.fail(f"it starts what it does not name: @pytest.mark.needs({names})", pytrace=False)
        return result

    def pytest_unconfigure(self) -> None:
        guest._write_boot = self._write_boot
        self.folder.cleanup()
