"""Two runs print the same: nothing of the host's time, CPU, files or chance reaches a program in a guest."""

from __future__ import annotations

import dataclasses
import random
import re
import shutil
import sys
import tarfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from lab.building import Silent
from lab.errors import MachineError
from lab.kernel import Budget, Guest, Kernel, Start, UmlKernel, boot
from lab.kernel.root import Root
from lab.kernel.vm import qemu, stock
from lab.runner.code import sealed
from lab.spec.clock import Clock
from lab.units import Size
from lab.userland.builder import build

pytestmark = pytest.mark.guest

Busy = Callable[[], AbstractContextManager[None]]
PROGRAM = Path(__file__).with_name("leaks.py")
COMMAND = ("sh", "-c", f"python3.13 -I -S {PROGRAM.name} > printed 2>&1")
WITHOUT = "avx=off,avx2=off,fma=off,bmi1=off,bmi2=off,popcnt=off,sse4.2=off"  # what libraries choose their code by
USED = re.compile(  # of the userland's files, by this program
    r"root/(etc/.*|usr/sbin/replab-init|usr/bin/(sh|dash|env|python3\.13)|usr/lib64/.*|usr/lib/python3\.13/.*"
    r"|usr/lib/x86_64-linux-gnu/(ld-linux|lib(c|m|z|expat|ffi)\.).*)"
)
# An instruction that reads, changes and writes a word faults once on a CPU, for writing. QEMU emulates it as a reading
# and a writing, which may fault one after the other: a count of faults is QEMU's, and not the machine's.
FAULTS = re.compile(r"ru_minflt=\d+")
INSIDE = """
import shutil
import sys
import tarfile
import tempfile
from pathlib import Path
from lab.kernel import UmlKernel, boot
from lab.kernel.root import Root
here = Path(tempfile.mkdtemp())  # of this folder all comes back to the host
tarfile.open("files.tar").extractall(here)
root = Root(here / "root", sys.argv[3], sys.argv[4], sys.argv[5], here / "code")
kernel = UmlKernel("7.2", "7", "0" * 16, 1000, (), here / "linux", int(sys.argv[1]), sys.argv[2] == "True")
boot(kernel, here / "trial", sys.argv[6:], root=root)
shutil.copy(here / "trial" / "printed", "printed")
"""


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
    result = boot(kernel, folder, COMMAND, root=root or files())
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


@dataclasses.dataclass(frozen=True)
class Plain:
    """A distribution's kernel under QEMU, on a CPU without AVX and what came with it."""

    kernel: Kernel

    @property
    def on(self) -> str:
        return self.kernel.on

    def start(self, folder: Path, seed: int, clock: Clock, memory: Size, root: Root) -> Start:
        start = self.kernel.start(folder, seed, clock, memory, root)
        words = list(start.command)
        words[words.index("-cpu") + 1] += f",{WITHOUT}"
        return dataclasses.replace(start, command=tuple(words))


def machine() -> Plain | None:
    try:
        return Plain(stock.find()) if not qemu.counted() else None
    except MachineError:
        return None


def test_another_cpu_prints_the_same(kernel: UmlKernel, tmp_path: Path) -> None:
    """The kernel under test runs inside a guest of QEMU, whose CPU is emulated."""
    inside = machine()
    if inside is None:
        pytest.skip("needs QEMU and a distribution's kernel: lab kernel fetch")
    there, root = tmp_path / "there", files()
    prepare(there / "trial", 2)
    with tarfile.open(there / "files.tar", "w") as tar:
        tar.add(kernel.path, "linux")
        tar.add(str(root.code), "code")
        tar.add(root.tree, "root", filter=lambda each: None if each.isreg() and not USED.match(each.name) else each)
        tar.add(there / "trial", "trial")
    shutil.rmtree(there / "trial")
    with tarfile.open(there / "files.tar") as tar:
        tar.extractall(tmp_path / "same")
    same = dataclasses.replace(root, tree=tmp_path / "same" / "root", code=tmp_path / "same" / "code")
    here = printed(kernel, tmp_path / "here", 1, same)
    (there / "inside.py").write_text(INSIDE)
    about = [str(kernel.clock), str(kernel.seccomp), root.init, root.python, root.search]
    start = [sys.executable, "-P", "inside.py", *about, *COMMAND]
    with Guest(inside, there, start, memory=Size.of("3 GiB"), budget=Budget(wall=600, stall=None)) as guest:  # type: ignore[arg-type]
        result = guest.wait()
    assert result.status == 0, result.console.read_text()
    there_too = (there / "printed").read_text().splitlines()
    assert differences(*([FAULTS.sub("", line) for line in each] for each in (here, there_too))) == []
