"""Two runs print the same: nothing of the host's time, CPU, files or chance reaches a program in a guest."""

from __future__ import annotations

import random
import re
import shutil
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from lab.base.building import Silent
from lab.machine.kernel import Budget, UmlKernel, boot
from lab.machine.kernel.root import Root
from lab.machine.userland.builder import build
from lab.runner.code import sealed
from lab.units import Size
from tests import emulated
from tests.emulated import Boot

pytestmark = pytest.mark.guest

Busy = Callable[[], AbstractContextManager[None]]
PROGRAM = Path(__file__).with_name("leaks.py")
COMMAND = ("sh", "-c", f"python3.13 -I -S {PROGRAM.name} > printed 2>&1")
MEMORY = Size.of("512 MiB")
USED = re.compile(  # of the userland's files, by this program
    r"root/(etc/.*|usr/sbin/replab-init|usr/bin/(sh|dash|env|python3\.13)|usr/lib64/.*|usr/lib/python3\.13/.*"
    r"|usr/lib/x86_64-linux-gnu/(ld-linux|lib(c|m|z|expat|ffi)\.).*)"
)


def prepare(folder: Path, seed: int) -> None:
    """Make the folder that the program looks at, its files in an order of their own."""
    (folder / "tree" / "deep").mkdir(parents=True)
    names = [str(number) for number in range(40)]
    random.Random(seed).shuffle(names)
    for name in names:
        (folder / "tree" / name).write_text(name)
    shutil.copyfile(PROGRAM, folder / PROGRAM.name)


def files() -> Root:
    return sealed(build("guest", Silent()).id)


def printed(kernel: UmlKernel, folder: Path, seed: int, root: Root | None = None) -> list[str]:
    prepare(folder, seed)
    result = boot(kernel, folder, COMMAND, memory=MEMORY, root=root or files())
    text = (folder / "printed").read_text()
    assert result.status == 0, text
    return text.splitlines()


def differences(one: list[str], other: list[str]) -> list[tuple[str, str]]:
    assert len(one) > 200, "the program printed everything"
    assert len(one) == len(other)
    return [pair for pair in zip(one, other, strict=True) if pair[0] != pair[1]]


def test_idle_and_loaded_two_runs_print_the_same(kernel: UmlKernel, tmp_path: Path, busy: Busy) -> None:
    idle = printed(kernel, tmp_path / "one", 1)
    with busy():
        loaded = printed(kernel, tmp_path / "another-with-a-longer-name", 2)
    assert differences(idle, loaded) == []


def test_the_counter_follows_the_clock(kernel: UmlKernel, tmp_path: Path) -> None:
    """One tick is a nanosecond since the boot; to look takes no time, to sleep does."""
    values = {
        name: [int(word) for word in rest.split()]
        for line in printed(kernel, tmp_path / "trial", 1)
        for name, _, rest in [line.replace(" later", "-later").partition(" ")]
        if name.startswith(("rdtsc", "processor"))
    }
    assert values["rdtsc"][0] == values["rdtsc"][1]
    slept = [values[f"{name}-later"][0] - values[name][1] for name in ("rdtsc", "rdtscp")]
    assert slept == [1_050_000] * 2, "a millisecond, and the slack of 50 us that timers have"
    assert values["processor"] == [0, 0]


def test_who_waits_for_the_counter_gets_there(kernel: UmlKernel, tmp_path: Path) -> None:
    script = """
import sys
sys.path.insert(0, ".")
from leaks import RDTSC, machine_code
read = machine_code(RDTSC)
start = read()
while read() < start + 10_000_000:
    pass
print("waited", read() - start)
"""
    (tmp_path / "script.py").write_text(script)
    shutil.copyfile(PROGRAM, tmp_path / PROGRAM.name)
    result = boot(kernel, tmp_path, [sys.executable, "-I", "-S", "script.py"], budget=Budget(stall=20))
    assert result.status == 0, result.console.read_text()
    waited = int(result.console.read_text().rpartition("waited ")[2].split()[0])
    assert 10_000_000 <= waited < 10_200_000


@pytest.mark.emulated
def test_another_cpu_prints_the_same(kernel: UmlKernel, tmp_path: Path) -> None:
    machine = emulated.machine()
    if machine is None:
        pytest.skip(emulated.NEEDS)
    there, root = tmp_path / "there", files()
    prepare(there, 2)
    part = emulated.unpacked(root, tmp_path / "same", USED.match)
    here = printed(kernel, tmp_path / "here", 1, part)
    emulated.boot_there(machine, kernel, part, [Boot(there, COMMAND, 1, MEMORY)], tmp_path / "machine")
    assert differences(here, (there / "printed").read_text().splitlines()) == []


def test_another_place_of_the_files_prints_the_same(kernel: UmlKernel, tmp_path: Path) -> None:
    printed_there = []
    for name in ("a", "long" * 12):
        place = tmp_path / name
        part = emulated.unpacked(files(), place / "same", USED.match)
        printed_there.append(printed(kernel, place / "here", 1, part))
    assert differences(*printed_there) == []
