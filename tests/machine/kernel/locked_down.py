"""Run a command under a seccomp profile as Docker's default one, for what a program without capabilities may do there.

    python locked_down.py [--as-podman] COMMAND...

Podman's profile answers what it does not list as a kernel would that lacks the call (ENOSYS), Docker's with EPERM.
https://docs.docker.com/engine/security/seccomp/ lists the calls. It needs no library besides Python's own.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys

# acct, mounts, swap, reboot, names, ports, modules, quotas, clocks, keys, other processes' memory, kexec, counters, ...
DENIED = (
    *(134, 136, 139, 153, 155, 156, 163, 164, 165, 166, 167, 168, 169, 170, 171, 172, 173, 174, 175, 176, 177, 178),
    *(179, 180, 212, 227, 237, 238, 239, 246, 248, 249, 250, 256, 272, 279, 298, 304, 305, 308, 312, 313, 320, 321),
    *(323, 425, 426, 427, 428, 429, 430, 431, 432, 433, 442, 443),
)
CLONE, PERSONALITY, CLONE3 = 56, 135, 435
NAMESPACES = 0x7E020000
PERSONALITIES = (0, 8, 0x20000, 0x20008, 0xFFFFFFFF)  # never ADDR_NO_RANDOMIZE
ALLOW, EPERM, ENOSYS = 0x7FFF0000, 0x00050000 | 1, 0x00050000 | 38
LOAD, RETURN, IF_EQUAL, IF_ANY = 0x20, 0x06, 0x15, 0x45
NUMBER, ARGUMENT = 0, 16


def program(refusal: int) -> bytes:
    """The filter, with the answer to a call of personality() that is on no list."""
    code: list[tuple[int, int, int, int]] = [(LOAD, 0, 0, NUMBER)]
    for number in DENIED:
        code += [(IF_EQUAL, 0, 1, number), (RETURN, 0, 0, EPERM)]
    code += [(IF_EQUAL, 0, 1, CLONE3), (RETURN, 0, 0, ENOSYS)]
    code += [(IF_EQUAL, 0, 4, CLONE), (LOAD, 0, 0, ARGUMENT), (IF_ANY, 0, 1, NAMESPACES), (RETURN, 0, 0, EPERM)]
    code += [(RETURN, 0, 0, ALLOW), (IF_EQUAL, 1, 0, PERSONALITY), (RETURN, 0, 0, ALLOW), (LOAD, 0, 0, ARGUMENT)]
    for value in PERSONALITIES:
        code += [(IF_EQUAL, 0, 1, value), (RETURN, 0, 0, ALLOW)]
    code += [(RETURN, 0, 0, refusal)]
    return b"".join(struct.pack("=HBBI", *each) for each in code)


def main() -> None:
    """Put on the filter, and become the command."""
    libc = ctypes.CDLL(None, use_errno=True)
    as_podman = sys.argv[1] == "--as-podman"
    command = sys.argv[1 + as_podman :]
    code = program(ENOSYS if as_podman else EPERM)
    buffer = ctypes.create_string_buffer(code, len(code))
    structure = struct.pack("=H6xQ", len(code) // 8, ctypes.addressof(buffer))
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, structure):  # PR_SET_NO_NEW_PRIVS; PR_SET_SECCOMP, by a filter
        sys.exit(f"no filter: {os.strerror(ctypes.get_errno())}")
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
