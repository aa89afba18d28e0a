"""Write BPF programs for tc as lists of instructions, and load them with bpf(2).

Programs of a dozen instructions need neither clang nor libbpf. Codes, helpers and layouts come from linux/bpf.h.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Literal, NamedTuple

import msgspec

from lab.errors import LabError

R0, R1, R2, R3, R4, R5, R6, R7, R8, R9 = range(10)  # calls and loads of a packet keep R6 to R9
PACKET = R6  # load_byte() and load_half() expect the packet's context there, and overwrite R0 to R5
STACK = 10

MAP_LOOKUP_ELEM, SKB_STORE_BYTES, L4_CSUM_REPLACE = 1, 9, 11  # helpers
MAP_CREATE, MAP_LOOKUP, PROG_LOAD, OBJ_GET_INFO_BY_FD = 0, 1, 5, 15  # commands
SCHED_CLS = 3  # type of program
ARRAY = 2  # type of map
TC_ACT_UNSPEC, TC_ACT_OK, TC_ACT_SHOT = -1, 0, 2  # UNSPEC leaves the packet to the next filter

_SYSCALL = 321 if os.uname().machine == "x86_64" else 280  # 280 is the number in the generic table
_INSTRUCTION = struct.Struct("=BBhi")
_LOG_BYTES = 1 << 16
_INFO_BYTES = 256

_libc = ctypes.CDLL(None, use_errno=True)


Size = Literal[1, 2, 4]  # bytes


class BpfError(LabError):
    """Raised if the kernel refuses a BPF request."""


class Line(NamedTuple):
    """Holds one instruction. If `leaves` is set, it jumps to the program's end, and the packet continues."""

    code: int
    to: int = 0
    source: int = 0
    offset: int = 0
    value: int = 0
    leaves: bool = False


def move(to: int, source: int) -> Line:
    """Copy register `source` to register `to`."""
    return Line(0xBF, to, source)


def put(to: int, value: int) -> Line:
    """Set register `to` to a constant."""
    return Line(0xB7, to, value=value)


def add(to: int, value: int) -> Line:
    """Add a constant to register `to`."""
    return Line(0x07, to, value=value)


def mask(value: int) -> Line:
    """Mask R0 with a constant: R0 &= `value`."""
    return Line(0x57, R0, value=value)


def remainder(value: int) -> Line:
    """Divide R0 by a constant, and keep the remainder: R0 %= `value`."""
    return Line(0x97, R0, value=value)


def load_byte(offset: int) -> Line:
    """Load the frame's byte at `offset` into R0."""
    return Line(0x30, value=offset)


def load_half(offset: int) -> Line:
    """Load the frame's 16 bits at `offset` into R0, in the machine's byte order."""
    return Line(0x28, value=offset)


def load_within(size: Size, register: int, offset: int) -> Line:
    """Load one, two or four bytes of the frame, `offset` bytes after the place in `register`, into R0."""
    return Line({1: 0x50, 2: 0x48, 4: 0x40}[size], 0, register, value=offset)


def load_length() -> Line:
    """Load the frame's length into R0 (struct __sk_buff)."""
    return Line(0x61, R0, PACKET)


def put_wide(to: int, value: int) -> list[Line]:
    """Set register `to` to a constant of up to 64 bits, in two slots."""
    low, high = struct.unpack("=ii", struct.pack("=Q", value))
    return [Line(0x18, to, value=low), Line(0, value=high)]


def network_order(register: int) -> Line:
    """Convert the lower 16 bits of a register to network byte order, as in a packet."""
    return Line(0xDC, register, value=16)


def store_half(below: int, source: int) -> Line:
    """Store the lower 16 bits of register `source` on the stack, `below` bytes below the stack's top."""
    return Line(0x6B, STACK, source, -below)


def leave_unless(value: int) -> Line:
    """End the program here unless R0 is `value`."""
    return Line(0x55, R0, value=value, leaves=True)


def leave_below(value: int) -> Line:
    """End the program here if R0 is less than `value`."""
    return Line(0xA5, R0, value=value, leaves=True)


def find(counter: Counter, number: int = 0) -> list[Line]:
    """Set R0 to the address of one of the counters."""
    key = 4  # bytes, under the stack's top
    return [
        Line(0x62, STACK, offset=-key, value=number),
        *(Line(0x18, R1, 1, value=counter.fd), Line(0)),  # R1 = the map, in two slots
        *(move(R2, STACK), add(R2, -key), call(MAP_LOOKUP_ELEM)),
        Line(0x15, R0, value=0, leaves=True),  # the verifier requires a check that the element exists
    ]


def count(counter: Counter, number: int = 0) -> list[Line]:
    """Set R0 to the number of earlier passes through this point, and count this pass."""
    return [
        *find(counter, number),
        *(put(R1, 1), Line(0xDB, R0, R1, value=1), move(R0, R1)),  # atomic: R1 = [R0], [R0] += 1
    ]


def skipping(jump: Line, lines: Sequence[Line]) -> list[Line]:
    """Return `jump` and `lines`, with `jump` going behind them."""
    return [jump._replace(offset=len(lines)), *lines]


def drop() -> list[Line]:
    """End the program here and drop the packet."""
    return [put(R0, TC_ACT_SHOT), Line(0x95)]


def call(helper: int) -> Line:
    """Call a helper: R0 = helper(R1, ... R5)."""
    return Line(0x85, value=helper)


def assembled(lines: Sequence[Line], passes: int = TC_ACT_OK) -> bytes:
    """Return the program in binary form, with final instructions that let the packet continue: `passes` says how."""
    whole = [*lines, put(R0, passes), Line(0x95)]
    ends = [line._replace(offset=len(lines) - at - 1) if line.leaves else line for at, line in enumerate(whole)]
    return b"".join(_INSTRUCTION.pack(it.code, it.source << 4 | it.to, it.offset, it.value) for it in ends)


class Counter(msgspec.Struct, frozen=True):
    """Reads a program's counters in the kernel: the elements of an array map."""

    fd: int

    @property
    def value(self) -> int:
        """The current count of the first counter. Raises BpfError if the kernel does not report the count."""
        return self.read(0)

    def read(self, number: int) -> int:
        """Return the current count of one counter. Raises BpfError if the kernel does not report the count."""
        key, value = ctypes.create_string_buffer(struct.pack("=I", number), 4), ctypes.create_string_buffer(8)
        if _bpf(MAP_LOOKUP, struct.pack("=I4xQQQ", self.fd, ctypes.addressof(key), ctypes.addressof(value), 0)) < 0:
            raise BpfError(f"the kernel does not tell a BPF counter: {os.strerror(ctypes.get_errno())}")
        return int.from_bytes(value.raw, sys.byteorder)


@contextmanager
def counting(counters: int = 1) -> Iterator[Counter]:
    """Provide counters, which start at zero, within this context.

    Raises BpfError if the kernel refuses the counter.
    """
    fd = _bpf(MAP_CREATE, struct.pack("=IIIII", ARRAY, 4, 8, counters, 0))
    if fd < 0:
        raise BpfError(f"the kernel refuses a BPF map: {os.strerror(ctypes.get_errno())}")
    try:
        yield Counter(fd)
    finally:
        os.close(fd)


class Program(msgspec.Struct, frozen=True):
    """Identifies a program in the kernel."""

    fd: int  # the descriptor that holds it
    id: int  # the number by which the kernel knows it


@contextmanager
def loaded(name: str, lines: Sequence[Line], passes: int = TC_ACT_OK) -> Iterator[Program]:
    """Load a classifier for tc within this context. `passes` is its answer for packets that continue.

    Raises BpfError, with the verifier's message, if the kernel refuses it.
    """
    code = assembled(lines, passes)
    text, log = ctypes.create_string_buffer(code, len(code)), ctypes.create_string_buffer(_LOG_BYTES)
    licence = ctypes.create_string_buffer(b"GPL")
    head = (SCHED_CLS, len(code) // _INSTRUCTION.size, ctypes.addressof(text), ctypes.addressof(licence))
    fd = _bpf(PROG_LOAD, struct.pack("=IIQQIIQII16s", *head, 0, 0, 0, 0, 0, name.encode()))
    if fd < 0:  # the verifier's log of a long program would not fit, which also counts as a failure
        logged = (1, _LOG_BYTES, ctypes.addressof(log), 0, 0, name.encode())
        fd = _bpf(PROG_LOAD, struct.pack("=IIQQIIQII16s", *head, *logged))
    if fd < 0:
        said = [os.strerror(ctypes.get_errno()), *log.value.decode(errors="replace").splitlines()[-3:]]
        raise BpfError(f"the kernel refuses BPF program {name}: {'; '.join(said)}")
    try:
        yield Program(fd, _id(fd))
    finally:
        os.close(fd)


def _id(fd: int) -> int:
    """Return a program's number: the second word of struct bpf_prog_info."""
    info = ctypes.create_string_buffer(_INFO_BYTES)
    if _bpf(OBJ_GET_INFO_BY_FD, struct.pack("=IIQ", fd, _INFO_BYTES, ctypes.addressof(info))) < 0:
        raise BpfError(f"the kernel does not tell a BPF program's number: {os.strerror(ctypes.get_errno())}")
    number: int = struct.unpack_from("=I", info, 4)[0]
    return number


def _bpf(command: int, request: bytes) -> int:
    return int(_libc.syscall(_SYSCALL, command, ctypes.create_string_buffer(request, len(request)), len(request)))
