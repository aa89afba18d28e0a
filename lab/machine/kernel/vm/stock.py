"""Fetch distribution kernels as packages into the cache, one folder for each, and start the unmodified kernels."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from lab.base import version
from lab.base.building import Progress
from lab.errors import InputError, MachineError
from lab.guest.clock import Clock, Place
from lab.machine.kernel import base, configuration, debian
from lab.machine.kernel.base import KernelMissing, Start
from lab.machine.kernel.root import Root
from lab.machine.kernel.vm import initrd, qemu
from lab.machine.kernel.vm.cpio import Archive
from lab.machine.kernel.vm.image import release, unpacked
from lab.machine.kernel.vm.modules import load_order, modules
from lab.machine.kernel.vm.preload import library
from lab.machine.userland import deb
from lab.machine.userland.tree import Tree
from lab.spec.variant import ResolvedVariant
from lab.units import Size


@dataclass(frozen=True, slots=True)
class StockKernel:
    """Describes a distribution kernel image, which runs unmodified under QEMU."""

    on: ClassVar[Place] = "vm"

    name: str  # the series, "6.12"; the release of an image that was given by its path
    version: str  # of the package, "6.12.107-1"; the release of an image that was given by its path
    release: str  # as the kernel prints it, "6.12.107+deb13-amd64"
    id: str  # hash of the package's version, the next two figures, the image and the modules
    hz: int  # ticks per second
    max_header: int  # MAX_HEADER of its configuration
    image: str  # SHA-256 of the shipped image
    folder: Path

    @property
    def clocks(self) -> tuple[Clock, ...]:
        """The clocks: virtual time, because QEMU can count instructions, and also real time if KVM runs guests here.

        Raises MachineError without QEMU.
        """
        return ("virtual",) if self.kvm() else ("real", "virtual")

    def kvm(self) -> str:
        """Return the reason why KVM does not run the kernel here, or "". Raises MachineError without QEMU."""
        return qemu.kvm(self.folder / "kernel", _home() / "kvm.json")

    def describe(self) -> dict[str, Any]:
        """Return the kernel's description in a trial, without paths: the same on every machine with the same QEMU
        version.
        """
        return {
            "name": self.name,
            "version": self.version,
            "id": self.id,
            "hz": self.hz,
            "max_header": self.max_header,
            "patches": [],
            "release": self.release,
            "image": self.image,
            "machine": _machine(),
        }

    def variant(self, wanted: ResolvedVariant) -> StockKernel:
        """Raise MachineError, because a distribution kernel has no variants."""
        raise MachineError(f"a distribution's kernel has no variant with {wanted}: --on uml has")

    def lacks(self, queue: str) -> bool:  # noqa: ARG002
        """Return False: only a guest sees the kernel's modules, so the lab cannot tell before the trial."""
        return False

    def start(self, folder: Path, seed: int, clock: Clock, memory: Size, root: Root) -> Start:  # noqa: ARG002
        """Return the `Start` of a guest of this kernel.

        Raises MachineError without QEMU, without a C compiler in virtual time, or without room for the guest's files.
        """
        environment = {"LD_PRELOAD": str(steady())} if clock == "virtual" else {}
        inside = initrd.make(folder, _home(), self.folder / "modules.cpio")
        return Start(qemu.command(self.folder / "kernel", inside, seed, clock, memory), environment)


def steady() -> Path:
    """Return the library that makes QEMU's time exact. Raises MachineError without a C compiler."""
    return library(_home())


def installed() -> list[StockKernel]:
    """Return every fetched kernel, the newest version first and, for equal versions, the last fetched first."""
    found = []
    for record in _home().glob("*/kernel.json"):
        try:
            plain = json.loads(record.read_text(encoding="utf-8"))
            found_in = {**plain, "folder": str(record.parent)}
            kernel = msgspec.convert(found_in, StockKernel, dec_hook=lambda _, path: Path(path))
        except (OSError, ValueError, TypeError, RecursionError):
            continue
        found.append((version.order(kernel.version), record.stat().st_mtime_ns, kernel))
    return [kernel for *_, kernel in sorted(found, key=lambda entry: entry[:2], reverse=True)]


def find(name: str | None = None) -> StockKernel:
    """Return the fetched kernel called `name`, or with that version, release or id (at least 8 characters).

    None means the newest. A name with a slash is the path of an image. Its modules, if any, are in /lib/modules. Raises
    KernelMissing with the fix, and InputError if there is no kernel at the path.
    """
    if name is not None and "/" in name:
        return adopt(Path(name))
    kernels = installed()
    for kernel in kernels:
        known = (kernel.name, kernel.version, kernel.release)
        if name is None or name in known or (len(name) >= 8 and kernel.id.startswith(name)):
            return kernel
    there = f" (there are {', '.join(dict.fromkeys(kernel.name for kernel in kernels))})" if kernels else ""
    what = f"the distribution's kernel '{name}'" if name else "a kernel of the distribution"
    if name is None or re.fullmatch(r"[\d.]+", name):
        fix = f"run `{' '.join(filter(None, ('lab kernel fetch', name)))}`"
    else:
        fix = "name a series, such as 7.2, which `lab kernel fetch` gets, or the path of an image"
    raise KernelMissing(f"{what} is not here{there}; {fix}")


def fetch(series: str | None, progress: Progress) -> StockKernel:
    """Return the newest kernel of a series (None: of all series) that Debian ships, from the cache if possible.

    The function installs no package. Raises MachineError if there is no such kernel, or no network.
    """
    home = _home()
    offer = debian.image(series, progress)
    have = next((each for each in installed() if (each.version, each.release) == (offer.version, offer.release)), None)
    if have is not None:
        return have
    home.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".fetching-", dir=home) as scratch:
        tree = Tree(Path(scratch, "tree"))
        for found in offer.packages:
            progress.say(f"fetching {found.package.name} {found.package.version}")
            with deb.contents(found.fetch(Path(scratch))) as tar:
                tree.add(found.package.name, tar)
        image, config, inside = (_first(tree.folder, name) for name in ("vmlinuz*", "config*", "lib/modules/*/kernel"))
        return _keep(offer.series, offer.version, image, config, inside.parent)


def adopt(image: Path, tree: Path | None = None) -> StockKernel:
    """Return the kernel in a bzImage, after storing it in the cache with the modules below `tree`.

    Default for `tree`: this machine's modules of the same release. The configuration is next to the image as
    config-RELEASE, among the modules as `config`, or in the tree that built the image. Raises InputError if the file is
    not a kernel image, or has no configuration.
    """
    name = release(image)
    tree = tree or Path("/lib/modules", name)
    places = (image.parent / f"config-{name}", tree / "config", *(up / ".config" for up in image.parents[:4]))
    config = next((each for each in places if each.is_file()), None)
    if config is None:
        raise InputError(f"{image}: its configuration is missing; put it beside the image, as config-{name}")
    return _keep(name, name, image, config, tree)


def _keep(name: str, version: str, image: Path, config: Path, tree: Path) -> StockKernel:
    """Store a kernel atomically in the cache, and return it."""
    home = _home()
    home.mkdir(parents=True, exist_ok=True)
    shipped = image.read_bytes()
    configured = config.read_text(encoding="utf-8")
    ticks = configuration.hz(configured)
    if ticks is None:
        raise InputError(f"{config}: not a kernel configuration, it has no CONFIG_HZ")
    headers = configuration.max_header(configured)
    with tempfile.TemporaryDirectory(prefix=".keeping-", dir=home) as scratch:
        place = Path(scratch, "kernel")
        place.mkdir()
        with (place / "modules.cpio").open("wb") as file:
            archive = Archive(file)
            archive.folder("/modules")
            for number, (module, content) in enumerate(load_order(modules(tree))):
                archive.file(f"/modules/{number:02d}-{module}.ko", content)
            archive.close()
        about = f"{name} {version} {ticks} {headers}\0".encode()
        total = hashlib.sha256(about + shipped + (place / "modules.cpio").read_bytes())
        plain: dict[str, Any] = {
            "name": name,
            "version": version,
            "release": release(image),
            "id": total.hexdigest()[:16],
            "hz": ticks,
            "max_header": headers,
            "image": hashlib.sha256(shipped).hexdigest(),
        }
        (place / "kernel").write_bytes(unpacked(image) or shipped)
        (place / "kernel.json").write_text(json.dumps(plain, indent=1) + "\n", encoding="utf-8")
        final = home / plain["id"]
        with contextlib.suppress(OSError):  # it is there already
            place.rename(final)
    return StockKernel(**plain, folder=final)


def _machine() -> str:
    """Return the name of the emulator that runs trials.

    Without QEMU, the name is "none", so that kernels can still be listed.
    """
    try:
        return f"QEMU {qemu.version()}"
    except qemu.Missing:
        return "none"


def _first(tree: Path, pattern: str) -> Path:
    found = sorted(tree.rglob(pattern))
    if not found:
        raise MachineError(f"the kernel's packages have no {pattern}; give the path of an image")
    return found[0]


def _home() -> Path:
    return base.folder().parent / "images"
