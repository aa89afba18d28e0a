"""A guest's system calls cost no sleep on the host. Beside load they cost sleeps, as before. The bytes never differ.

Each voluntary context switch of the host is a sleep in a futex. The tests count them, and measure no time.
"""

from __future__ import annotations

import os
import resource
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

import pytest

from lab.machine.kernel import UmlKernel, boot

pytestmark = [pytest.mark.guest, pytest.mark.alone]

Busy = Callable[[], AbstractContextManager[None]]
CALLS = 60_000  # system calls that the program makes
PROGRAM = f"""
dd if=/dev/zero of=/dev/null bs=1 count={CALLS // 2} 2> /dev/null
(dd if=/dev/zero bs=1000 count=2000 | wc -c) 2> /dev/null
cat /proc/stat /proc/meminfo /proc/vmstat /proc/self/stat /proc/uptime
date +%s.%N
"""


def run(kernel: UmlKernel, folder: Path, around: AbstractContextManager[None]) -> tuple[bytes, float]:
    """What the program printed, and how often the host's processes slept for each of its system calls."""
    folder.mkdir()
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_nvcsw
    with around:
        result = boot(kernel, folder, ["sh", "-ec", f"{{ {PROGRAM} }} > out 2>&1"])
    slept = resource.getrusage(resource.RUSAGE_CHILDREN).ru_nvcsw - before
    printed = (folder / "out").read_bytes()
    assert result.status == 0, printed
    return printed, slept / CALLS


@contextmanager
def first() -> Iterator[None]:
    """A context whose guests run ahead of everything else on their CPU, so that they are alone there."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        pytest.skip("needs the right to run ahead of other processes (CAP_SYS_NICE)")
    try:
        yield
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


@contextmanager
def apart(folder: Path) -> Iterator[None]:
    """A context that keeps the processes of a guest in `folder` away from the CPU of its kernel."""
    moved: set[int] = set()
    ended = threading.Event()

    def move() -> None:
        while not ended.wait(0.005):
            for entry in Path("/proc").glob("[0-9]*"):
                try:
                    name = (entry / "comm").read_text()
                    if int(entry.name) in moved or name != "uml-userspace\n" or (entry / "cwd").readlink() != folder:
                        continue
                    others = set(range(os.cpu_count() or 1)) - os.sched_getaffinity(int(entry.name))
                    os.sched_setaffinity(int(entry.name), others)
                    moved.add(int(entry.name))
                except OSError:
                    continue  # it has ended

    mover = threading.Thread(target=move)
    mover.start()
    try:
        yield
    finally:
        ended.set()
        mover.join()
    assert moved


@pytest.fixture(scope="module")
def alone(kernel: UmlKernel, tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, float]:
    return run(kernel, tmp_path_factory.mktemp("handover") / "alone", first())


def test_alone_on_a_cpu_nothing_sleeps(alone: tuple[bytes, float]) -> None:
    printed, sleeps = alone
    assert len(printed) > 2000
    assert sleeps < 0.2, "without yields, each call is two sleeps"


def test_beside_load_it_sleeps_and_the_bytes_are_the_same(
    kernel: UmlKernel, tmp_path: Path, busy: Busy, alone: tuple[bytes, float]
) -> None:
    """A yield beside a busy process gives a whole time slice away, so the guest has to stop yielding."""
    with busy():
        printed, sleeps = run(kernel, tmp_path / "busy", nullcontext())
    assert printed == alone[0]
    assert sleeps > 0.5


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs")
def test_on_two_cpus_it_sleeps_and_the_bytes_are_the_same(
    kernel: UmlKernel, tmp_path: Path, alone: tuple[bytes, float]
) -> None:
    folder = tmp_path / "apart"
    printed, sleeps = run(kernel, folder, apart(folder))
    assert printed == alone[0]
    assert sleeps > 0.5
