"""Store the SHA-256 of a kernel's program next to the program, and start no guest if the program no longer matches."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from threading import Lock

from lab.base import cache
from lab.base.writing import write
from lab.errors import MachineError

_KEPT = "linux.sha256"
_HASHING = Lock()  # guests start in threads, and the first of them reads the whole file


class KernelAltered(MachineError):
    """Raised if a kernel's program has changed since the build."""


def keep(program: Path) -> None:
    """Write the hash of a newly built program. Raises MachineError, and OSError if the program cannot be read."""
    write(f"{cache.hash_of(program)} {_identity(program)}\n", program.with_name(_KEPT))


def check(program: Path, every_byte: bool = False) -> None:
    """Compare a program with its hash. A kernel without a hash, from an older lab version, gets a hash now.

    If the file system shows no change since the file was hashed, the file is read only with `every_byte`, which also
    finds bits that the disk has lost. A process reads a program only once. Raises KernelAltered, and MachineError if
    the program cannot be read.
    """
    try:
        wanted, _, identity = program.with_name(_KEPT).read_text(encoding="ascii").strip().partition(" ")
        if identity == _identity(program) and not every_byte:
            return
        with _HASHING:
            found = cache.hash_of(program)
    except FileNotFoundError:
        with suppress(OSError, MachineError):  # the folder may be read-only, for example
            keep(program)
        return
    except (OSError, UnicodeDecodeError) as error:
        raise MachineError(f"{program} cannot be compared with its hash: {error}") from error
    if found != wanted:
        anew = f"remove {program.parent}, then run `lab kernel build`"
        raise KernelAltered(f"{program} is not the kernel that was built: its SHA-256 is {found}; {anew}")


def _identity(program: Path) -> str:
    """Return file attributes that change with any write, even if the file's date is reset afterwards."""
    about = program.stat()
    return f"{about.st_dev} {about.st_ino} {about.st_size} {about.st_mtime_ns} {about.st_ctime_ns}"
