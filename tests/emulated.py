"""Boot kernels under test inside a machine that QEMU emulates, on a CPU without what libraries choose their code by."""

from __future__ import annotations

import dataclasses
import json
import shutil
import sys
import tarfile
from collections.abc import Callable, Sequence
from pathlib import Path

from lab.errors import MachineError
from lab.guest.clock import Clock
from lab.machine.kernel import Budget, Guest, Kernel, Start, UmlKernel
from lab.machine.kernel.root import Root
from lab.machine.kernel.vm import qemu, stock
from lab.units import Size

__all__ = ["NEEDS", "Boot", "Machine", "boot_there", "machine", "unpacked"]

NEEDS = "needs QEMU and a distribution's kernel: lab kernel fetch"
WITHOUT = "avx=off,avx2=off,fma=off,bmi1=off,bmi2=off,popcnt=off,sse4.2=off,pku=off"
FILES = "files.tar"
INSIDE = """
import json
import shutil
import sys
import tarfile
import tempfile
from pathlib import Path
from lab.machine.kernel import Budget, UmlKernel, boot
from lab.machine.kernel.root import Root
from lab.units import Size
here = Path(tempfile.mkdtemp())  # of this folder all comes back to the host
about = json.loads(sys.argv[1])
tarfile.open("files.tar").extractall(here)
Path("files.tar").unlink()
root = Root(here / "root", about["init"], about["python"], about["search"], here / "code")
kernel = UmlKernel("7.2", "7", "0" * 16, 1000, (), here / "linux", about["clock"], about["seccomp"])
budget = Budget(wall=None, stall=None)
for number, (command, seed, memory) in enumerate(about["boots"]):
    folder = here / str(number)
    done = boot(kernel, folder, command, seed=seed, memory=Size(memory), budget=budget, root=root)
    print(number, "ended with", done.status, flush=True)
    shutil.copytree(folder, str(number))
"""


@dataclasses.dataclass(frozen=True)
class Boot:
    """Say what to boot: `command` in `folder`."""

    folder: Path
    command: Sequence[str]
    seed: int
    memory: Size


@dataclasses.dataclass(frozen=True)
class Machine:
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


def machine() -> Machine | None:
    """Return the machine, or None where this one cannot emulate it."""
    try:
        return Machine(stock.find()) if not qemu.counted() else None
    except MachineError:
        return None


def unpacked(root: Root, folder: Path, wanted: Callable[[str], object] = bool) -> Root:
    """Copy to `folder` those files of `root` whose names ("root/usr/bin/env") are wanted, folders and links all."""
    assert root.code is not None

    def left_out(here: str, names: list[str]) -> list[str]:
        paths = [Path(here, name) for name in names]
        files = [path for path in paths if path.is_file() and not path.is_symlink()]
        return [path.name for path in files if not wanted(f"root/{path.relative_to(root.tree)}")]

    shutil.copytree(root.tree, folder / "root", symlinks=True, ignore=left_out)
    shutil.copytree(root.code, folder / "code", symlinks=True)
    return dataclasses.replace(root, tree=folder / "root", code=folder / "code")


def boot_there(machine: Machine, kernel: UmlKernel, root: Root, boots: Sequence[Boot], scratch: Path) -> None:
    """Boot one guest after the other inside the machine; what each leaves in its folder comes back to this one's."""
    scratch.mkdir()
    with tarfile.open(scratch / FILES, "w") as tar:
        tar.add(kernel.path, "linux")
        tar.add(str(root.code), "code")
        tar.add(root.tree, "root")
        for number, each in enumerate(boots):
            tar.add(each.folder, str(number))
    (scratch / "inside.py").write_text(INSIDE)
    about = {
        "init": root.init,
        "python": root.python,
        "search": root.search,
        "clock": kernel.clock,
        "seccomp": kernel.seccomp,
        "boots": [(list(each.command), each.seed, each.memory.bytes) for each in boots],
    }
    start = [sys.executable, "-P", "inside.py", json.dumps(about)]
    budget = Budget(wall=7200, stall=None)
    with Guest(machine, scratch, start, memory=Size.of("4 GiB"), budget=budget) as guest:  # type: ignore[arg-type]
        result = guest.wait()
    assert result.status == 0, result.console.read_text()
    for number, each in enumerate(boots):
        shutil.rmtree(each.folder)
        (scratch / str(number)).rename(each.folder)
