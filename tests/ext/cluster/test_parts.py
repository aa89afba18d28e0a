"""Kernels and userlands arrive whole or not at all, and nothing is left of one that did not."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.errors import MachineError
from lab.ext.cluster import parts
from lab.ext.cluster.parts import Part
from lab.machine.kernel.uml.cache import UmlKernel, load
from lab.machine.userland import cache
from lab.machine.userland.cache import MANIFEST, TREE, Userland
from lab.machine.userland.manifest import manifest

PLAIN = {"name": "7.2", "version": "7.2.1-1", "id": "0" * 16, "hz": 1000, "patches": [], "clock": 1, "seccomp": True}


def kernel(home: Path, program: bytes = b"linux") -> UmlKernel:
    home.mkdir(parents=True)
    (home / "linux").write_bytes(program)
    (home / "linux").chmod(0o755)
    (home / "kernel.json").write_text(json.dumps(PLAIN))
    found = load(home)
    assert found is not None
    return found


def userland(home: Path, programs: int = 1) -> Userland:
    """A userland with programs, a link and an empty folder, all of one date."""
    tree = home / TREE
    (tree / "usr" / "bin").mkdir(parents=True)
    (tree / "proc").mkdir()
    for number in range(programs):
        (tree / "usr" / "bin" / f"program-{number}").write_bytes(b"#!/bin/sh\n")
        (tree / "usr" / "bin" / f"program-{number}").chmod(0o555)
    (tree / "bin").symlink_to("usr/bin")
    for path in sorted(tree.rglob("*"), reverse=True):
        os.utime(path, (1_700_000_000, 1_700_000_000), follow_symlinks=False)
    text = manifest(tree)
    (home / MANIFEST).write_text(text)
    return Userland(sha256(text.encode()).hexdigest()[:16], tree)


@pytest.fixture
def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache of a worker that has nothing."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "worker"))
    return tmp_path / "worker" / "replab"


def in_pieces(packed: bytes) -> list[bytes]:
    return [packed[start : start + 100] for start in range(0, len(packed), 100)]


def test_a_kernel_arrives_for_those_who_ask_for_its_bytes(worker: Path, tmp_path: Path) -> None:
    sent, other = kernel(tmp_path / "sent"), kernel(tmp_path / "other", b"others")
    part = parts.of_kernel(sent)
    assert parts.kept(part) is None
    parts.keep(part, in_pieces(parts.pack(part, sent.path.parent)))
    place = parts.kept(part)
    assert place is not None
    found = load(place)
    assert found is not None
    assert (found.describe(), found.path.read_bytes(), os.access(found.path, os.X_OK)) == (
        sent.describe(),
        b"linux",
        True,
    )
    assert parts.kept(parts.of_kernel(other)) is None, "its id is the same, its bytes are others"
    parts.keep(part, in_pieces(parts.pack(part, sent.path.parent)))
    assert [path.name for path in (worker / "sent").iterdir()] == [place.name]


def test_a_userland_arrives_with_links_permissions_and_dates(worker: Path, tmp_path: Path) -> None:
    sent = userland(tmp_path / "sent")
    part = parts.of_userland(sent)
    assert parts.kept(part) is None
    parts.keep(part, in_pieces(parts.pack(part, tmp_path / "sent")))
    assert parts.kept(part) == worker / "userlands" / sent.id
    found = cache.load(sent.id)
    assert found is not None
    assert manifest(found.tree) == manifest(sent.tree)
    assert list((worker / "sent").iterdir()) == []


def test_what_was_altered_here_is_named(worker: Path, tmp_path: Path) -> None:
    boots, programs = kernel(tmp_path / "kernel"), userland(tmp_path / "userland")
    for part, place in (
        (parts.of_kernel(boots), boots.path.parent),
        (parts.of_userland(programs), tmp_path / "userland"),
    ):
        parts.keep(part, [parts.pack(part, place)])
    (linux,) = worker.glob("sent/*/linux")
    linux.write_bytes(b"linuX")
    with pytest.raises(MachineError, match=f"kernel {boots.id} in {linux.parent} has different bytes"):
        parts.kept(parts.of_kernel(boots))
    program = worker / "userlands" / programs.id / TREE / "usr" / "bin" / "program-0"
    os.utime(program, (0, 0))
    with pytest.raises(MachineError, match=f"userland {programs.id} in .* has different bytes"):
        parts.kept(parts.of_userland(programs))


@given(data=st.data())
def test_nothing_is_kept_of_what_did_not_arrive_whole(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = tmp_path_factory.mktemp("parts")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(home / "worker"))
        sent = userland(home / "userland")
        part, other = parts.of_userland(sent), parts.of_kernel(kernel(home / "kernel"))
        packed = parts.pack(part, home / "userland")
        at = data.draw(st.integers(0, 1 << 20)) % len(packed)  # its length depends on today's date
        flipped = packed[:at] + bytes([packed[at] ^ 1 << data.draw(st.integers(0, 7))]) + packed[at + 1 :]
        wrong = [(part, flipped), (part, packed[:at]), (part._replace(id="f" * 16), packed), (other, packed)]
        for asked, archive in wrong:
            with pytest.raises(MachineError, match=f"{asked} (did not arrive as it was sent|cannot be)"):
                parts.keep(asked, in_pieces(archive))
        assert [path for path in (home / "worker").rglob("*") if path.name not in ("replab", "sent")] == []


RECEIVE = """
import sys
from pathlib import Path
from lab.ext.cluster import parts
part = parts.Part(*sys.argv[1:4])
parts.keep(part, [Path(sys.argv[4]).read_bytes()])
"""


@pytest.mark.long
def test_what_a_killed_worker_left_goes_with_the_next_worker(worker: Path, tmp_path: Path) -> None:
    sent = userland(tmp_path / "sent", programs=3000)
    part = parts.of_userland(sent)
    (tmp_path / "packed").write_bytes(packed := parts.pack(part, tmp_path / "sent"))
    argv = [sys.executable, "-c", RECEIVE, *part, str(tmp_path / "packed")]
    with subprocess.Popen(argv) as receiving:
        while not list((worker / "sent").glob("*~*/whole/root/usr/bin/program-1*")):
            assert receiving.poll() is None, "it was too quick"
            time.sleep(0.001)
        receiving.send_signal(signal.SIGKILL)
    assert list((worker / "sent").glob("*~*"))
    assert parts.kept(part) is None
    parts.tidy()
    assert list((worker / "sent").iterdir()) == []
    parts.keep(part, [packed])
    assert parts.kept(part)


def test_a_part_that_is_gone_cannot_be_sent(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match=r"kernel 0123 cannot be sent: .*none: No such file"):
        parts.pack(Part(parts.KERNEL, "0123", "0" * 64), tmp_path / "none")
