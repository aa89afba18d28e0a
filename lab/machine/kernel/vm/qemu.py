"""Run QEMU directly: build the command that starts a guest, and test QEMU's features on this machine.

A guest's instructions run in one of two ways: on KVM, in real time, or emulated (TCG) and counted, at one nanosecond of
guest time per instruction (-icount shift=0). Counted time stops while the host is busy, and jumps to the next timer
when the guest is idle (sleep=off). The library steady.c makes this jump exact.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from lab.errors import MachineError
from lab.guest.clock import Clock
from lab.units import Size

PROGRAM = "qemu-system-x86_64"
DATE = "2025-06-15T15:06:40"  # at a guest's boot in counted time, UTC; the same as in user-mode guests
SECONDS = 15.0  # allowed for one start: some KVM devices hang
DONE = 33  # QEMU's exit status when a guest writes 16 to isa-debug-exit: 2 * 16 + 1
# mov dx, 0xf4; mov al, 16; out dx, al; hlt: at the address where an x86 CPU begins, 16 bytes before the ROM's end
FIRMWARE = bytes((64 << 10) - 16) + bytes.fromhex("baf400b010eef4").ljust(16, b"\xf4")

_MACHINE = ("-M", "q35,sata=off,smbus=off", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot")
# The CPU has no instruction for random numbers, and QEMU's version decides its other features. For each of the features
# below, a kernel patches itself at its start in thousands of places, and QEMU must translate all of them again.
_WITHOUT = ("rdrand", "rdseed", "smap", "smep", "umip", "la57", "fsgsbase", "erms", "invpcid", "pcid")
_COUNTED = (
    *("-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off,align=off"),
    *("-cpu", ",".join(("max", *(f"{feature}=off" for feature in _WITHOUT))), "-rtc", f"base={DATE},clock=vm"),
)
_KVM = ("-accel", "kvm", "-cpu", "host")
_KERNEL = (
    "console=ttyS0 quiet panic=-1 oops=panic nokaslr random.trust_cpu=off random.trust_bootloader=off"
    " rodata=off initcall_blacklist=load_system_certificate_list"  # saves an emulated CPU seconds; trials need neither
)


class Missing(MachineError):
    """Raised if QEMU is not installed."""


def program() -> str:
    """Return QEMU's path. Raises Missing."""
    found = shutil.which(PROGRAM)
    if found is None:
        raise Missing(f"{PROGRAM} is not installed; run `sudo apt-get install qemu-system-x86`")
    return found


@cache
def version() -> str:
    """Return QEMU's version, such as "7.2.22". Raises Missing, and MachineError if QEMU does not run."""
    said = subprocess.run([program(), "--version"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    found = re.search(r"version (\S+)", said.stdout)
    if found is None:
        raise MachineError(f"{PROGRAM} does not print its version: {said.stderr.strip()}")
    return found.group(1)


def command(kernel: Path, initrd: str, seed: int, clock: Clock, memory: Size) -> tuple[str, ...]:
    """Return the command that starts the guest in its trial's folder.

    The trial's folder is the current folder, and the guest sees it as the shared folder `trial`; `initrd` is a path in
    that folder. The seed is on the kernel's command line, and initialises the kernel's random generator. Raises
    Missing.
    """
    return (
        program(),
        *_MACHINE,
        *(_COUNTED if clock == "virtual" else _KVM),
        *("-m", f"{memory.bytes >> 20}M", "-seed", str(seed % (1 << 32))),
        *("-chardev", "file,id=console,path=console.log,append=on", "-serial", "chardev:console"),
        *("-fsdev", "local,id=trial,path=.,security_model=none"),
        *("-device", "virtio-9p-pci,fsdev=trial,mount_tag=trial"),
        *("-kernel", str(kernel), "-initrd", initrd, "-append", f"{_KERNEL} lab.seed={seed}"),
    )


def kvm(kernel: Path, memory: Path) -> str:
    """Return the reason why KVM does not run `kernel` here, or "". Raises Missing and MachineError.

    The test is a boot that ends when the kernel looks for its root, because on some hosts KVM fails after a few
    instructions. The file `memory` stores the result until this machine reboots.
    """
    if not Path("/dev/kvm").exists():
        return "there is no /dev/kvm"
    asked = [Path("/proc/sys/kernel/random/boot_id").read_text().strip(), version(), os.geteuid()]
    with contextlib.suppress(OSError, ValueError):
        known = json.loads(memory.read_text(encoding="utf-8"))
        if known["asked"] == asked:
            return str(known["blocker"])
    end, said = _try(*_KVM, "-m", "256M", "-serial", "stdio", "-kernel", str(kernel), "-append", _KERNEL)
    blocker = "" if "Kernel panic" in said else _blocker(end, said)
    with contextlib.suppress(OSError):  # if this fails, KVM is tested again next time
        memory.write_text(json.dumps({"asked": asked, "blocker": blocker}) + "\n", encoding="utf-8")
    return blocker


def counted() -> str:
    """Return the reason why QEMU does not count instructions here, or "". Raises Missing."""
    with tempfile.TemporaryDirectory(prefix="lab-qemu-") as folder:
        firmware = Path(folder, "firmware")
        firmware.write_bytes(FIRMWARE)
        end, said = _try(*_COUNTED, "-m", "16M", "-bios", str(firmware), "-device", "isa-debug-exit,iobase=0xf4")
    return "" if end == DONE else _blocker(end, said)


def _try(*arguments: str) -> tuple[int | None, str]:
    """Run QEMU. Return its exit status (None if it had to be killed), and the output of QEMU and its guest."""
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        try:
            end = subprocess.run(
                [program(), *_MACHINE, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=SECONDS,
            ).returncode
        except subprocess.TimeoutExpired:
            end = None
        output.seek(0)
        return end, output.read()


def _blocker(end: int | None, said: str) -> str:
    error = re.search(r"^.*(?:KVM internal error|failed to|not supported|Permission denied).*$", said, re.MULTILINE)
    if error:
        return error.group().strip()
    return f"no guest booted within {SECONDS:g} s" if end is None else f"QEMU ended with status {end}"
