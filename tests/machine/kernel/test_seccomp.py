"""The filter of system calls decides as its table says: it is run here, instruction by instruction."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.machine.kernel import landlock, seccomp
from lab.machine.kernel.seccomp import ALLOW, DENY, Call, Only

NATIVE = 0xC000003E
CALLS = {mode: seccomp.calls(ptrace=mode) for mode in (False, True)}
PROGRAMS = {mode: seccomp.program(calls) for mode, calls in CALLS.items()}


def run(program: bytes, number: int, arguments: tuple[int, ...] = (0,) * 6, architecture: int = NATIVE) -> int:
    """What a kernel's BPF machine returns for a call."""
    data = struct.pack("=IIQ6Q", number, architecture, 0, *arguments)
    code = list(struct.iter_unpack("=HBBI", program))
    at = accumulator = 0
    while True:
        operation, true, false, constant = code[at]
        at += 1
        match operation:
            case 0x20:
                (accumulator,) = struct.unpack_from("=I", data, constant)
            case 0x54:
                accumulator &= constant
            case 0x15:
                at += true if accumulator == constant else false
            case 0x35:
                at += true if accumulator >= constant else false
            case 0x06:
                return int(constant)
            case _:
                raise AssertionError(f"no such instruction: {operation:#x}")


def expected(calls: tuple[Call, ...], number: int, arguments: tuple[int, ...]) -> int:
    for call in calls:
        if call.number == number:
            held = all(arguments[each.argument] & 0xFFFFFFFF & each.mask in each.values for each in call.conditions)
            return ALLOW if held else DENY
    return DENY


NUMBERS = st.sampled_from([call.number for call in CALLS[True]]) | st.integers(0, (1 << 32) - 1) | st.integers(0, 500)
VALUES = sorted({value for call in CALLS[True] for each in call.conditions for value in each.values})
ARGUMENTS = st.sampled_from(VALUES) | st.integers(0, (1 << 64) - 1)


@given(st.booleans(), NUMBERS, st.tuples(*[ARGUMENTS] * 6))
def test_the_program_decides_as_the_table_says(ptrace: bool, number: int, arguments: tuple[int, ...]) -> None:
    assert run(PROGRAMS[ptrace], number, arguments) == expected(CALLS[ptrace], number, arguments)


@given(
    st.lists(st.integers(0, 40), unique=True, max_size=9),
    st.integers(0, 50),
    st.lists(
        st.builds(Only, st.integers(0, 5), st.lists(st.integers(0, 3), min_size=1, max_size=4).map(tuple), st.just(3)),
        max_size=3,
    ),
    st.tuples(*[st.integers(0, 7)] * 6),
)
def test_so_it_does_for_any_table(
    numbers: list[int], number: int, conditions: list[Only], arguments: tuple[int, ...]
) -> None:
    calls = tuple(Call(each, "any", tuple(conditions) if each % 2 else ()) for each in sorted(numbers))
    assert run(seccomp.program(calls), number, arguments) == expected(calls, number, arguments)


@given(NUMBERS)
def test_calls_of_another_architecture_are_refused(number: int) -> None:
    assert run(PROGRAMS[False], number, architecture=0x40000003) == DENY


@pytest.mark.parametrize("ptrace", [False, True])
@pytest.mark.parametrize(
    ("number", "arguments"),
    [
        (41, ()),  # socket
        (42, ()),  # connect
        (53, (1, 2)),  # socketpair of datagrams, which could be sent to any socket
        (56, (0x10000000,)),  # clone with a new user namespace
        (59, ()),  # execve
        (62, (0xFFFFFFFF,)),  # kill everybody
        (62, (0xFFFFFFFF_FFFFFFFF,)),
        (16, (0, 0x5412)),  # TIOCSTI: types into the user's terminal
        (101, (16,)),  # ptrace, attaching
        (101, (0x4206,)),  # ptrace, seizing
        (88, ()),  # symlink
        (90, ()),  # chmod
        (92, ()),  # chown
        (91, ()),  # fchmod
        (165, ()),  # mount
        (250, ()),  # keyctl
        (272, ()),  # unshare
        (298, ()),  # perf_event_open
        (308, ()),  # setns
        (310, ()),  # process_vm_readv
        (321, ()),  # bpf
        (322, (3, 0, 0, 0, 0)),  # execveat of a path
        (425, ()),  # io_uring_setup
        (435, ()),  # clone3, whose flags a filter cannot see
        (203, ()),  # sched_setaffinity: a guest stays on its CPU
        (302, (1,)),  # another's limits
    ],
)
def test_what_leads_out_is_refused(ptrace: bool, number: int, arguments: tuple[int, ...]) -> None:
    assert run(PROGRAMS[ptrace], number, (*arguments, *[0] * (6 - len(arguments)))) == DENY


def test_who_runs_processes_without_ptrace_has_none() -> None:
    assert run(PROGRAMS[True], 101) == ALLOW
    assert run(PROGRAMS[False], 101) == DENY


@pytest.mark.parametrize("version", range(1, 9))
def test_an_older_landlock_is_asked_only_for_what_it_knows(version: int) -> None:
    """LANDLOCK_ACCESS_FS_* of each version, from the kernel's documentation."""
    known = {1: 13, 2: 14, 3: 15, 4: 15}.get(version, 16)
    assert landlock.handled(version) == (1 << known) - 1
    network, scopes = landlock.scoped(version)
    assert (bool(network), bool(scopes)) == (version >= 4, version >= 6)
    assert bool(landlock.gaps(version)) == (version < 6)
