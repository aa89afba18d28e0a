"""Run as process 1 of a guest under QEMU, like `lab.guest.init`, but with all files in the guest's own memory.

The trial's folder is in /trial, among the other files. The results are copied to the host after the command has ended.
No data leaves the guest earlier, because no trial needs this.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import shutil
import struct
import termios

from lab.guest.init import LAB, MS_BIND, POWER_OFF, Job, build, leave, libc, mount, run

TRIAL = "/trial"
MODULES = "/modules"  # in the order to load them
HOST = "/mnt/trial"  # the trial's folder on the host
LOADED = "boot/modules"  # below that folder: the guest's /proc/modules, while QEMU runs
SYS_FINIT_MODULE = 313  # x86-64
RNDADDENTROPY = 0x40085203  # linux/random.h


def main() -> None:
    """Build the machine, run the job's command, hand over its results and exit status, and power off."""
    be_random()
    job = Job(TRIAL)
    try:
        load_modules()
        build(job.keep)
        os.makedirs(LAB)
        mount(TRIAL, LAB, "", MS_BIND, "")
        status = run(job)
        deliver(status)
    finally:
        termios.tcdrain(1)  # the rest of the console's output
        libc.reboot(POWER_OFF)


def be_random() -> None:
    """Make the kernel initialise its random number generator with the seed on its command line.

    Otherwise, the first reader of random bytes waits a second of guest time for CPU jitter.
    """
    with open("/dev/random", "wb", buffering=0) as random:
        fcntl.ioctl(random, RNDADDENTROPY, struct.pack("ii32x", 256, 32))


def load_modules() -> None:
    """Load every module.

    Print the names of modules that the kernel refuses. A trial that needs such a module reports that the module is
    missing.
    """
    for name in sorted(os.listdir(MODULES)):
        file = os.open(f"{MODULES}/{name}", os.O_RDONLY)
        if libc.syscall(SYS_FINIT_MODULE, file, b"", 0):
            print(f"module {name}: {os.strerror(ctypes.get_errno())}", flush=True)  # noqa: T201  # the console
        os.close(file)


def deliver(status: int) -> None:
    """Copy the trial's files to the host, and finally the exit status, or an error that occurred during the copy."""
    os.makedirs(HOST)
    mount("trial", HOST, "9p", 0, "trans=virtio,version=9p2000.L,msize=524288,cache=none")
    error = 0
    try:
        if os.path.exists("/proc/modules"):  # else the kernel loads none
            shutil.copyfile("/proc/modules", f"{HOST}/{LOADED}")
        for folder, folders, names in os.walk(LAB):
            inside = os.path.relpath(folder, LAB)
            if inside == "boot":
                continue
            for each in folders:
                os.makedirs(f"{HOST}/{inside}/{each}", exist_ok=True)
            for each in names:
                shutil.copyfile(f"{folder}/{each}", f"{HOST}/{inside}/{each}")
    except OSError as failed:
        error = failed.errno or 1
    leave(status, HOST, error)


if __name__ == "__main__":
    main()
