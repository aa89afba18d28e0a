"""QEMU: one boot of an image with a payload, its words line by line, and nothing left of it."""

from __future__ import annotations

import os
import queue
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO

from tests.vm.image import Image

FIRST_WORD = 60.0  # seconds: KVM that works takes 10


class MachineFailed(Exception):
    """The machine said nothing for too long, or ended before it was done."""


@dataclass(frozen=True)
class Machine:
    """How much of this computer it gets. `budget`: the most seconds between two lines of its own."""

    cpus: int
    memory_mib: int
    budget: float

    def lines(self, image: Image, payload: IO[bytes], console: IO[bytes]) -> Iterator[str]:
        """What the payload says until the machine is off; `console`, a file, takes what its kernel says.

        With KVM when it answers, else emulated: a device that is there may still hang. Raises MachineFailed.
        """
        for accelerator in ("kvm", "tcg"):
            patience = FIRST_WORD if accelerator == "kvm" else self.budget
            if accelerator == "kvm" and not os.access("/dev/kvm", os.R_OK | os.W_OK):
                continue
            with self._running(image, payload, console, accelerator) as said:
                try:
                    first = said.get(timeout=patience)
                except queue.Empty:
                    first = None
                if first is not None:
                    yield f"running on {accelerator}"
                    yield first
                    yield from self._rest(said)
                    return
        raise MachineFailed("it never came up")

    def _rest(self, said: queue.Queue[str | None]) -> Iterator[str]:
        while True:
            try:
                line = said.get(timeout=self.budget)
            except queue.Empty:
                raise MachineFailed(f"it said nothing for {self.budget:g} s") from None
            if line is None:
                return
            yield line

    @contextmanager
    def _running(
        self, image: Image, payload: IO[bytes], console: IO[bytes], accelerator: str
    ) -> Iterator[queue.Queue[str | None]]:
        """A running machine's lines, None after the last. It dies with the context, and with this process."""
        argv = [
            *("setpriv", "--pdeathsig", "KILL", "qemu-system-x86_64", "-nodefaults", "-no-user-config", "-no-reboot"),
            *("-display", "none", "-accel", accelerator, "-cpu", "max"),
            *("-smp", str(self.cpus), "-m", str(self.memory_mib)),
            *("-kernel", str(image.kernel), "-initrd", str(image.initrd)),
            *("-append", "root=/dev/vda rw console=ttyS0 quiet"),
            # What is written goes to a file without a name, so the image stays as it is and nothing has to be removed.
            *("-drive", f"file={image.disk},format=raw,if=virtio,snapshot=on,cache=unsafe"),
            *("-drive", f"file=/proc/self/fd/{payload.fileno()},format=raw,if=virtio,readonly=on"),
            *("-nic", "user,model=virtio-net-pci", "-device", "virtio-rng-pci"),
            *("-chardev", f"file,id=console,path=/proc/self/fd/{console.fileno()},append=on"),
            *("-serial", "chardev:console"),
            *("-serial", "stdio"),
        ]
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=console,
            pass_fds=(payload.fileno(), console.fileno()),
        )
        said: queue.Queue[str | None] = queue.Queue()
        reader = threading.Thread(target=_read, args=(process, said))
        reader.start()
        try:
            yield said
        finally:
            process.kill()
            process.wait()
            reader.join()


def _read(process: subprocess.Popen[bytes], said: queue.Queue[str | None]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        said.put(line.decode(errors="replace").rstrip())
    said.put(None)
