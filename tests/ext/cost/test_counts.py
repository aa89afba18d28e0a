"""Counts: what the plugin writes, read back by function."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.ext.cost.counts import USER, FunctionCount, TrialCounts, parse, read
from lab.ext.cost.symbols import UNNAMED, functions
from lab.record.record import Record, RecordError

TEXT = """700 0 user
100 4 tcp_ack
20 0 tcp_ack.cold
30 2 tcp_ack.isra.0
5 1 tcp_ack.part.0.cold
9 3 veth:veth_xmit
mark
"""
NAMES = st.from_regex(r"[a-z_][a-z0-9_]{0,20}", fullmatch=True).filter(lambda name: name != USER)


def test_parts_and_copies_of_a_function_are_one_function() -> None:
    assert parse(TEXT, "here") == (700, {"tcp_ack": FunctionCount(155, 6), "veth:veth_xmit": FunctionCount(9, 3)})


@given(st.dictionaries(NAMES, st.tuples(st.integers(1, 1 << 60), st.integers(0, 1 << 60))), st.integers(0, 1 << 60))
def test_written_counts_are_read_back(counts: dict[str, tuple[int, int]], user: int) -> None:
    lines = [f"{user} 0 {USER}", *(f"{own} {calls} {name}" for name, (own, calls) in counts.items()), "mark"]
    assert parse("\n".join(lines), "here") == (user, {name: FunctionCount(*of) for name, of in counts.items()})


@given(st.text(max_size=200))
def test_any_other_text_is_refused(text: str) -> None:
    if text.splitlines().count("mark") != 1:
        with pytest.raises(RecordError, match=r"^here"):
            parse(text, "here")


@pytest.mark.parametrize("marks", [0, 2])
def test_counts_that_are_not_whole_are_refused(marks: int) -> None:
    with pytest.raises(RecordError, match="has no end"):
        parse("1 1 tcp_ack\n" + "mark\n" * marks, "here")


class Fake:
    folder, address, trial = Path("here"), "a" * 64, SimpleNamespace(seed=1)

    def __init__(self, account: object) -> None:
        self._account = account

    def text(self, _: str) -> str:
        return TEXT

    def json(self, _: str) -> object:
        return self._account


@pytest.mark.parametrize("account", ["all of it", None, {}, {"elapsed": "long"}, {"elapsed": None}])
def test_an_account_of_cpu_time_without_its_seconds_is_refused(account: object) -> None:
    with pytest.raises(RecordError, match=r"here: output 'cpu\.json' is not an account"):
        read(cast(Record, Fake(account)))


def test_the_busy_share_is_the_instructions_over_the_time() -> None:
    """An instruction takes a nanosecond. The guest's own account has ticks, so it is wrong for a short workload."""
    found = read(cast(Record, Fake({"elapsed": 1e-6})))
    assert found.kernel + found.user == 864
    assert found.busy == pytest.approx(0.864)
    assert read(cast(Record, Fake({"elapsed": 0.0}))).busy == 0.0
    assert read(cast(Record, Fake({"elapsed": 1e-7}))).busy == 1.0


def test_units_are_calls_of_the_kernels_functions() -> None:
    named = {
        "tcp_v4_rcv": FunctionCount(50, 10),
        "tcp_v6_rcv": FunctionCount(5, 1),
        "tcp_finish_connect": FunctionCount(1, 2),
        "__x64_sys_sendto": FunctionCount(3, 7),
        "__x64_sys_poll": FunctionCount(3, 1),
    }
    counts = TrialCounts(1, 0, "a" * 64, 100, named)
    assert counts.kernel == 62
    assert counts.units(4) == {"message": 4, "segment": 11, "connection": 2, "system call": 8}
    assert "message" not in counts.units(None)


def test_functions_are_sorted_and_have_one_name_each() -> None:
    text = """ffffffff82000010 T __memcpy
ffffffff82000010 T memcpy
ffffffff82000000 t tcp_ack
ffffffff81fffff0 t __pfx_tcp_ack
ffffffff83000000 D jiffies
0000000000001000 A fixed_percpu_data
ffffffffc0201000 t veth_xmit\t[veth]
no symbol at all
"""
    assert list(functions(text)) == [
        (0xFFFFFFFF82000000, "tcp_ack"),
        (0xFFFFFFFF82000010, "memcpy"),
        (0xFFFFFFFF82001000, UNNAMED),
        (0xFFFFFFFFC0201000, "veth:veth_xmit"),
        (0xFFFFFFFFC0202000, UNNAMED),
    ]


def test_the_edge_of_a_section_is_no_function() -> None:
    """The thunks of 6.12 had the name of the section before them, so that no kernel but 7.2 seemed to have them."""
    text = """ffffffff81d198c0 T __softirqentry_text_end
ffffffff81d198c0 T __indirect_thunk_start
ffffffff81d198c0 T __x86_indirect_thunk_array
ffffffff81d198c0 T __x86_indirect_thunk_rax
ffffffff81d198e0 T __x86_indirect_thunk_rcx
ffffffff82000000 T _etext
"""
    assert list(functions(text))[:3] == [
        (0xFFFFFFFF81D198C0, "__x86_indirect_thunk_rax"),
        (0xFFFFFFFF81D198E0, "__x86_indirect_thunk_rcx"),
        (0xFFFFFFFF82000000, "_etext"),
    ]


def test_code_between_modules_belongs_to_no_function() -> None:
    """A compiled BPF program is there, and is no part of the module before it."""
    text = """ffffffff83e0bd30 t handshake_exit
ffffffffc0400010 t veth_xmit\t[veth]
ffffffffc0404620 t veth_exit\t[veth]
ffffffffc0405000 t ifb_stats64\t[ifb]
ffffffffc0405ff0 t ifb_exit\t[ifb]
ffffffffc0406fff t bpf_prog_6deef7357e7b4530\t[bpf]
"""
    assert list(functions(text)) == [
        (0xFFFFFFFF83E0BD30, "handshake_exit"),
        (0xFFFFFFFF83E0C000, UNNAMED),
        (0xFFFFFFFFC0400010, "veth:veth_xmit"),
        (0xFFFFFFFFC0404620, "veth:veth_exit"),  # ifb begins with the next page
        (0xFFFFFFFFC0405000, "ifb:ifb_stats64"),
        (0xFFFFFFFFC0405FF0, "ifb:ifb_exit"),
        (0xFFFFFFFFC0406000, UNNAMED),
        (0xFFFFFFFFC0406FFF, "bpf:bpf_prog_6deef7357e7b4530"),
        (0xFFFFFFFFC0407000, UNNAMED),
    ]


@given(st.text())
def test_no_text_breaks_the_reading_of_symbols(text: str) -> None:
    found = list(functions(text))
    assert found == sorted(found)
