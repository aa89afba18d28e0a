"""Print all that a program in a guest can learn without the network: what differs between two runs is the host's.

Run as a script, in a folder that holds a folder `tree`. It needs no library besides Python's own.
"""

from __future__ import annotations

import ctypes
import math
import mmap
import os
import platform
import resource
import socket
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path

RDTSC = "0f31 48c1e220 4809d0 c3"  # rdtsc; shl rdx, 32; or rax, rdx; ret
RDTSCP = "0f01f9 48c1e220 4809d0 c3"
PROCESSOR = "0f01f9 89c8 c3"  # rdtscp; mov eax, ecx; ret
SHOWN = ("cpuinfo", "version", "cmdline", "meminfo", "mounts", "self/limits", "interrupts", "stat", "self/maps")


def machine_code(text: str) -> Callable[[], int]:
    """A function of these instructions. Its memory stays for as long as the program runs."""
    page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(bytes.fromhex(text))
    run = ctypes.CFUNCTYPE(ctypes.c_uint64)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
    run.page = page  # type: ignore[attr-defined]
    return run


def counters() -> Iterator[str]:
    for name, code in (("rdtsc", RDTSC), ("rdtscp", RDTSCP), ("processor", PROCESSOR)):
        run = machine_code(code)
        yield f"{name} {run()} {run()}"
        time.sleep(0.001)
        yield f"{name} later {run()}"
    yield f"clocks {time.time_ns()} {time.monotonic_ns()} {time.clock_gettime_ns(time.CLOCK_BOOTTIME)}"
    yield f"resolution {time.get_clock_info('monotonic').resolution}"
    yield f"cpu time {time.process_time_ns()} {resource.getrusage(resource.RUSAGE_SELF)}"


def chance() -> Iterator[str]:
    yield f"random {os.urandom(16).hex()} {hash('x')} {id(object())}"
    yield Path("/proc/sys/kernel/random/boot_id").read_text()
    yield Path("/proc/sys/kernel/random/uuid").read_text()


def machine() -> Iterator[str]:
    yield f"{os.uname()} {socket.gethostname()} {platform.processor()}"
    for name in SHOWN:
        yield f"{name}\n{Path('/proc', name).read_text()}"
    words = struct.iter_unpack("=QQ", Path("/proc/self/auxv").read_bytes())
    yield f"auxiliary vector {list(words)}"
    yield f"environment {sorted(os.environ.items())}"
    yield f"process {os.getpid()} {os.getppid()} {os.getuid()} {os.getgroups()} {os.cpu_count()} {os.getloadavg()}"


def libraries() -> Iterator[str]:
    """Which of its variants the C library chose for this CPU, and what they compute."""
    libc, libm = ctypes.CDLL("libc.so.6"), ctypes.CDLL("libm.so.6")
    for library, base, names in (
        (libc, libc.gnu_get_libc_version, ("memcpy", "memmove", "memset", "strlen", "memchr", "strcmp")),
        (libm, libm.fegetround, ("exp", "log", "pow", "sin", "cos", "atan2", "floor", "fma")),
    ):
        start = ctypes.cast(base, ctypes.c_void_p).value or 0
        for name in names:
            yield f"{name} {(ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0) - start:#x}"
    figures = [(number + 0.1) / 7 for number in range(1, 2000)]
    for function in (math.exp, math.log, math.sin, math.tan, math.atan, math.sqrt, math.gamma):
        yield f"{function.__name__} {hash(tuple(function(figure / 30) for figure in figures))}"


def files() -> Iterator[str]:
    Path("new").write_text("new")
    Path("new folder").mkdir()
    for folder in ("tree", "."):
        yield f"{folder} {[(each.name, each.inode()) for each in os.scandir(folder)]}"
    for path in ("tree", "tree/deep", *(f"tree/{number}" for number in range(5)), "new", "new folder", "."):
        about = Path(path).stat()
        yield f"{path} {about} {about.st_blocks} {about.st_atime_ns} {about.st_ctime_ns}"
    yield f"file system {os.statvfs('.')}"
    yield f"program {Path('/usr/bin/env').stat()}"


def main() -> None:
    """Print everything, line by line."""
    for part in (counters, chance, machine, libraries, files):
        for line in part():
            print(line)  # what it is for


if __name__ == "__main__":
    main()
