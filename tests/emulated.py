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
from lab.kernel import Budget, Guest, Kernel, Start, UmlKernel
from lab.kernel.root import Root
from lab.kernel.vm import qemu, stock
from lab.spec.clock import Clock
from lab.units import Size

__all__ = ["NEEDS", "Boot", "Machine", "boot_there", "machine", "unpacked"]

NEEDS = "needs QEMU and a distribution's kernel: lab kernel fetch"
WITHOUT = "avx=off,avx2=off,fma=off,bmi1=off,bmi2=off,popcnt=off,sse4.2=off"
FILES = "files.tar"
INSIDE = """
import json
import sys
import tarfile
import tempfile
from pathlib import Path
from lab.kernel import Budget, UmlKernel, boot
from lab.kernel.root import Root
from lab.units import Size
here = Path(tempfile.mkdtemp())  # of this folder all comes back to the host
about = json.loads(sys.argv[1])
tarfile.open("files.tar").extractall(here)
Path("files.tar").unlink()
root = Root(here / "root", about["init"], about["python"], about["search"], here / "code")
kernel = UmlKernel("7.2", "7", "0" * 16, 1000, (), here / "linux", about["clock"], about["seccomp"])
budget = Budget(wall=None, stall=None)
for number, (seed, command) in enumerate(about["boots"]):
    folder = here / str(number)
    done = boot(kernel, folder, command, seed=seed, memory=Size.of("1 GiB"), budget=budget, root=root)
    print(number, "ended with", done.status, flush=True)
    with tarfile.open(f"{number}.tar", "w") as tar:
        tar.add(folder, ".")
"""

Boot = tuple[Path, int, Sequence[str]]  # a folder, the seed, and the command that runs in it


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
    """Copy to `folder` those files of `root` whose names ("root/usr/bin/env") are wanted."""
    folder.mkdir()
    archive = folder / FILES
    with tarfile.open(archive, "w") as tar:
        tar.add(str(root.code), "code")
        tar.add(root.tree, "root", filter=lambda each: None if each.isreg() and not wanted(each.name) else each)
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="fully_trusted")
    archive.unlink()
    return dataclasses.replace(root, tree=folder / "root", code=folder / "code")


def boot_there(machine: Machine, kernel: UmlKernel, root: Root, boots: Sequence[Boot], scratch: Path) -> None:
    """Boot one guest after the other inside the machine; what each leaves in its folder comes back to this one's."""
    scratch.mkdir()
    with tarfile.open(scratch / FILES, "w") as tar:
        tar.add(kernel.path, "linux")
        tar.add(str(root.code), "code")
        tar.add(root.tree, "root")
        for number, (folder, _, _) in enumerate(boots):
            tar.add(folder, str(number))
    (scratch / "inside.py").write_text(INSIDE)
    about = {
        "init": root.init,
        "python": root.python,
        "search": root.search,
        "clock": kernel.clock,
        "seccomp": kernel.seccomp,
        "boots": [(seed, list(command)) for _, seed, command in boots],
    }
    start = [sys.executable, "-P", "inside.py", json.dumps(about)]
    budget = Budget(wall=7200, stall=None)
    with Guest(machine, scratch, start, memory=Size.of("4 GiB"), budget=budget) as guest:  # type: ignore[arg-type]
        result = guest.wait()
    assert result.status == 0, result.console.read_text()
    for number, (folder, _, _) in enumerate(boots):
        shutil.rmtree(folder)
        with tarfile.open(scratch / f"{number}.tar") as tar:
            tar.extractall(folder, filter="fully_trusted")
