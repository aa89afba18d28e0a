"""What packetdrill said is read as it was recorded: moments, packets, complaints; a verdict follows from them."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.errors import LabError, MachineError
from lab.ext.suites.packetdrill.verdict import Complaint, ScriptRun, read
from lab.ext.suites.script import JudgedRun, JudgedScript, Shift, judge, shifts
from lab.record.record import Record
from lab.units import Duration

# Of tcp_accecn_2nd_data_as_first.pkt on 7.2, by packetdrill with the lab's patches.
OUT = """\
listen syscall: 1750000000.004250
moment: line 12 inbound packet: expected 50000~50000 happened 50000 tolerance 6250
inbound injected packet:  0.050000 SEWA 0:0(0) win 32767 <mss 1460,nop,nop,sackOK,nop,wscale 8>
outbound sniffed packet:  0.050000 S.W 1168739385:1168739385(0) ack 1 win 65535 <mss 1460,ECN e1b 1 ceb 0 e0b 1>
moment: line 13 outbound packet: expected 52000~52000 happened 50000 tolerance 4000
moment: line 18 system call start: expected 102000~102000 happened 102000 tolerance 4000
moment: line 20 outbound packet: expected 200000~210000 happened 210012 tolerance 4000
"""
# Of packetdrill without them, at a tolerance of 1 us.
LATE = """\
tcp_accecn_3rd_dups.pkt:13: error handling packet: timing error: expected outbound packet at 0.002758 sec but \
happened at 0.000758 sec; tolerance 0.000001 sec
script packet:  0.002758 S.W 0:0(0) ack 1 <mss 1460,ECN e1b 1 ceb 0 e0b 1,nop,nop,nop,sackOK,nop,wscale 8>
actual packet:  0.000758 S.W 0:0(0) ack 1 win 65535 <mss 1460,ECN e1b 1 ceb 0 e0b 1,nop,nop,nop,sackOK,nop,wscale 8>
"""
CALL = "tcp_x.pkt:8: timing error: expected system call start at 0.002758 sec but happened at 0.002788 sec\n"


def ran(status: int | None = 0, out: str = OUT, err: str = "", version: str = "ipv4") -> ScriptRun:
    return read(version, status, out, err)


def scripted(*runs: ScriptRun, tolerance: Duration | None = None) -> JudgedScript:
    return JudgedScript("tcp_x", "7.2", "00", tuple(JudgedRun(run, tolerance) for run in runs))


def test_moments_say_how_far_an_event_is_off() -> None:
    found = [(each.line, each.what, each.off) for each in ran().moments]
    assert found == [
        (12, "inbound packet", 0),
        (13, "outbound packet", -2000),
        (18, "system call start", 0),
        (20, "outbound packet", 12),
    ]
    worst = ran().worst
    assert worst is not None
    assert (worst.line, worst.tolerance) == (13, 4000)


def test_packets_have_their_way() -> None:
    assert [packet[:14] for packet in ran().packets] == ["< 0.050000 SEW", "> 0.050000 S.W"]


@pytest.mark.parametrize(
    ("status", "err", "line", "said"),
    [
        (1, LATE, 13, "error handling packet: timing error"),
        (1, CALL, 8, "timing error: expected system call"),
        (1, "sh: 1: tc: not found\n" + CALL, 8, "timing error"),
        (1, "open tun device: No such file or directory\n", None, "open tun device: No such file"),
        (1, "", None, "it left no message"),
        (None, "", None, "it did not end in time"),
        (-6, "packetdrill: run.c:9: main: Assertion `0' failed.\n", None, "packetdrill was ended by signal 6: "),
    ],
)
def test_a_script_that_fails_says_where_and_why(status: int | None, err: str, line: int | None, said: str) -> None:
    complaint = ran(status, err=err).complaint
    assert complaint is not None
    assert complaint.message.startswith(said)
    assert complaint.line == line


def test_expected_and_seen_packet_stand_side_by_side() -> None:
    complaint = ran(1, err=LATE).complaint
    assert complaint is not None
    assert complaint.expected.startswith("0.002758 S.W 0:0(0) ack 1 <mss")
    assert complaint.seen.startswith("0.000758 S.W 0:0(0) ack 1 win 65535 <mss")


def test_a_script_is_judged_by_its_own_tolerance_or_by_one_that_is_asked_for() -> None:
    assert scripted(ran()).passed
    assert not scripted(ran()).exact
    assert scripted(ran(), tolerance=Duration.of("2 ms")).passed
    (run,) = scripted(ran(), tolerance=Duration.of("1 ms")).runs
    assert not run.passed
    assert run.complaint == Complaint("timing error: outbound packet came 2 ms too early; tolerance 1 ms", 13)
    (later,) = scripted(ran(out=OUT.replace("happened 50000 tolerance 4000", "happened 52001 tolerance 4000"))).runs
    assert JudgedRun(later.run, Duration.of("12 us")).passed
    assert JudgedRun(later.run, Duration.of("11 us")).complaint == Complaint(
        "timing error: outbound packet came 12 us too late; tolerance 11 us", 20
    )


def test_exact_means_to_the_microsecond() -> None:
    near = "moment: line 1 outbound packet: expected 5~9 happened {} tolerance 4000\n"
    assert [scripted(ran(out=near.format(at))).exact for at in (3, 4, 5, 9, 10, 11)] == [
        False,
        True,
        True,
        True,
        True,
        False,
    ]
    assert not scripted(ran(1, out="", err=CALL)).exact


def test_what_differs_from_another_kernel_is_found_below_the_tolerance() -> None:
    """12.5 % of a timeout hide 40 ms becoming 41 ms from packetdrill, not from a comparison."""
    base = ran()
    new = ran(out=OUT.replace("happened 102000", "happened 103000"))
    assert scripted(base).passed
    assert scripted(new).passed
    said = ("system call start at 102.000 ms", "system call start at 103.000 ms")
    assert list(shifts(scripted(base), scripted(new))) == [Shift("tcp_x", "ipv4", 18, *said)]
    assert list(shifts(scripted(base), scripted(ran()))) == []


def test_a_verdict_that_changed_is_a_difference() -> None:
    cut = OUT[: OUT.index("moment: line 18")]
    (found,) = shifts(scripted(ran(out=OUT)), scripted(ran(1, out=cut, err=LATE)))
    assert (found.line, found.base) == (13, "it holds")
    assert found.new.startswith("error handling packet")
    assert [shift.version for shift in shifts(scripted(ran(), ran(version="ipv6")), scripted(ran(), ran(1)))] == [
        "ipv4"
    ]


def test_an_error_is_no_pass() -> None:
    failed = judge("tcp_x", "7.2", "00", MachineError("no room"))
    assert not failed.passed
    assert failed.plain()["error"] == "no room"
    assert [shift.new for shift in shifts(scripted(ran()), failed)] == ["no room"]
    assert list(shifts(judge("tcp_x", "7.2", "00", LabError("no room")), failed)) == []


def test_a_record_is_judged_by_each_version(tmp_path: Path) -> None:
    class Kept(Record):
        """A record of texts."""

        host = {"wall_seconds": 1.5}

        def text(self, name: str) -> str:
            return {
                "packetdrill.json": '[{"version": "ipv4", "status": 0}, {"version": "ipv6", "status": 1}]',
                "packetdrill.ipv4.out": OUT,
                "packetdrill.ipv6.err": LATE,
            }.get(name, "")

    judged = judge("tcp_x", "7.2", "00", Kept(tmp_path))
    assert [(run.run.version, run.passed) for run in judged.runs] == [("ipv4", True), ("ipv6", False)]
    assert judged.seconds == 1.5
    plain = judged.plain()["runs"]
    assert plain[0]["worst"] == {"line": 13, "event": "outbound packet", "off": -0.002}
    assert plain[1]["seen"].startswith("0.000758 S.W")
