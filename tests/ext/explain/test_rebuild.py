"""`lab explain --rebuild`: files that `lab check` accepts, with the figures of the capture, and reasons to refuse."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.errors import InputError
from lab.ext.explain import api, files
from lab.ext.explain.explaining import look_closely
from lab.ext.explain.measuring import measure
from lab.ext.explain.planning import RebuildPlan, plan
from lab.spec import find
from lab.units import Size
from tests.ext.explain.captures import ACK, MSS, PSH, Packet, handshake, pcap, windows
from tests.kinds import Type

DATA = Path(__file__).parents[2] / "data"
FRAME = MSS + 40 + 38  # these captures have no timestamps


def _planned(tmp_path: Path, packets: list[Packet]) -> RebuildPlan:
    file = tmp_path / "capture.pcap"
    file.write_bytes(pcap(sorted(packets, key=lambda each: each.ms)))
    return plan(look_closely(file))


def _through_a_bottleneck(rate: float, rtt: float, window: int, count: int) -> list[Packet]:
    """Return a transfer with a fixed window, whose segments leave on ACKs. Times are in ms, the rate in frames a ms."""
    packets = handshake(rtt, scale=7)
    acks: list[float] = []
    free, at = 0.0, rtt
    for number in range(count):
        at = max(at, acks[number - window]) if number >= window else at
        packets.append(Packet(at, seq=1 + number * MSS, size=MSS))
        free = max(free, at + rtt / 2) + 1 / rate
        acks.append(free + rtt / 2)
        packets.append(Packet(acks[-1], back=True, ack=1 + (number + 1) * MSS, window=4000))
    return packets


def test_rate_delay_and_goodput_are_those_of_the_packets(tmp_path: Path) -> None:
    made = _planned(tmp_path, _through_a_bottleneck(rate=2.0, rtt=20.0, window=60, count=600))
    assert made.path.rate == pytest.approx(2000 * 8 * FRAME, rel=0.001)
    assert made.delay.value == "10 ms"
    assert made.path.queue == pytest.approx(60 / 2.0 * 1e6, rel=0.1)  # the first burst waits longest
    assert made.path.limit is None
    assert made.goodput.bps == pytest.approx(600 * 8 * MSS / 0.32, rel=0.01)  # with the first round trip
    assert made.program.kind == "Bulk"
    assert made.program.fields["size"] == str(Size(600 * MSS))


def test_a_full_window_becomes_a_receive_buffer_and_an_arm_with_twice_as_much(tmp_path: Path) -> None:
    made = _planned(tmp_path, windows(40, [45] * 20))
    least, first, most = map(int, made.sysctls["receiver"]["net.ipv4.tcp_rmem"].value.split())
    assert least <= first <= most
    assert made.rate is not None  # `lab run` would refuse a greedy program on a path without one
    assert 65535 < most < 2 * 65535  # the window is a share of the buffer
    assert "twice-the-window" in [each.name for each in made.undoing]
    assert str(2 * most) in next(each.arguments for each in made.undoing if each.name == "twice-the-window")


def test_pauses_of_the_writer_become_its_block_and_its_effort(tmp_path: Path) -> None:
    packets = handshake(20)
    for turn in range(10):
        at, seq = 40 + 200 * turn, 1 + 3000 * turn
        packets += [Packet(at, seq=seq, size=MSS), Packet(at, seq=seq + MSS, size=MSS)]
        packets += [Packet(at, seq=seq + 2 * MSS, size=3000 - 2 * MSS, flags=ACK | PSH)]
        packets += [Packet(at + 20, back=True, ack=seq + 3000)]
    made = _planned(tmp_path, packets)
    assert (made.program.fields["block"], made.program.fields["effort"]) == ("3000 B", "200 ms")
    assert "writes-without-pauses" in [each.name for each in made.undoing]


def test_turns_become_requests_and_responses(tmp_path: Path) -> None:
    packets = handshake(50)
    for turn in range(10):
        at, seq = 60 + 300 * turn, 1 + 100 * turn
        packets += [Packet(at, seq=seq, ack=1 + 40 * turn, size=100, flags=ACK | PSH)]
        packets += [Packet(at + 80, back=True, seq=1 + 40 * turn, ack=seq + 100, size=40, flags=ACK | PSH)]
    fields = _planned(tmp_path, packets).program.fields
    expected = {"count": 10, "interval": "300 ms", "request": "100 B", "response": "40 B", "think": "30 ms"}
    assert fields == expected


def test_segments_lost_behind_a_short_queue_are_lost_by_chance(tmp_path: Path) -> None:
    file = Path(shutil.copy(DATA / "lossy.pcap", tmp_path))
    path = measure(look_closely(file))
    assert (path.lost, path.overflowed) == (5, False)


@pytest.mark.parametrize("name", ["lossy.pcap", "transfer.pcap", "hole.pcap", "small_writes.pcap"])
def test_the_files_pass_lab_check_and_are_refused_the_second_time(tmp_path: Path, name: str) -> None:
    capture = Path(shutil.copy(DATA / name, tmp_path))
    pack = tmp_path / "again"
    assert len(api.rebuild(capture, pack)) == 4
    assert not find.check([*pack.glob("experiments/*/*.py"), *pack.glob("topologies/*.yaml")])
    assert "The capture does not show" in (pack / "topologies" / "path.yaml").read_text()
    with pytest.raises(InputError, match="already exists"):
        api.rebuild(capture, pack)


@given(name=st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=40))
def test_any_name_of_a_capture_can_stand_in_the_files(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    tmp_path = tmp_path_factory.mktemp("named")
    made = plan(look_closely(DATA / "lossy.pcap"))
    files.write(made, Path(name), tmp_path / "again")
    assert not find.check([*tmp_path.glob("again/experiments/*/*.py"), *tmp_path.glob("again/topologies/*.yaml")])


def test_one_direction_is_refused_with_the_reason(tmp_path: Path) -> None:
    packets = [each for each in windows(40, [20] * 5) if not each.back]
    with pytest.raises(InputError, match="cannot be rebuilt: the capture has one direction only"):
        _planned(tmp_path, packets)


def test_a_capture_that_would_run_for_hours_is_refused(tmp_path: Path) -> None:
    packets = windows(40, [20] * 20)
    packets += [replace(packets[-1], ms=400_000)]
    with pytest.raises(InputError, match="hours"):
        _planned(tmp_path, packets)


def test_gains_need_a_run(type_here: Type, tmp_path: Path) -> None:
    shutil.copy(DATA / "lossy.pcap", tmp_path / "lossy.pcap")
    assert type_here("lab explain lossy.pcap --rebuild again").stdout.splitlines()[-1] == "next: lab run again"
    answer = type_here("lab explain lossy.pcap --gains again --results none")
    assert answer.returncode == 2
    assert answer.stderr.startswith("lab: ")
