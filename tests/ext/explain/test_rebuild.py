"""`lab explain --rebuild`: files that `lab check` accepts, with the figures of the capture, and reasons to refuse."""

from __future__ import annotations

import gzip
import shutil
import struct
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.errors import InputError, MachineError
from lab.ext.explain import api, commands, display, files, page
from lab.ext.explain.explaining import look_closely
from lab.ext.explain.gains import Gains, check_capture, transfer_of
from lab.ext.explain.measuring import _by_chance, measure
from lab.ext.explain.planning import FoundSetting, plan
from lab.spec import find
from lab.units import Duration, Size
from tests.ext.explain.captures import ACK, MSS, PSH, Packet, handshake, pcap, planned, windows
from tests.kinds import Type

DATA = Path(__file__).parents[2] / "data"
FRAME = MSS + 40 + 38  # these captures have no timestamps


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
    made = planned(tmp_path, _through_a_bottleneck(rate=2.0, rtt=20.0, window=60, count=600))
    assert made.path.rate == pytest.approx(2000 * 8 * FRAME, rel=0.001)
    without = 2 * (FRAME - MSS) / FRAME / 2.0  # ms: the handshake's packets take as long as two headers
    assert Duration.of(made.delay.value).seconds == pytest.approx((20 - without) / 2000, abs=1e-6)
    assert made.path.queue == pytest.approx(60 / 2.0 * 1e6, rel=0.1)  # the first burst waits longest
    assert made.path.limit is None
    assert made.goodput.bps == pytest.approx(600 * 8 * MSS / 0.32, rel=0.01)  # with the first round trip
    assert made.program.kind == "Bulk"
    assert made.program.fields["size"] == str(Size(600 * MSS))


def test_a_full_window_becomes_a_receive_buffer_and_an_arm_with_twice_as_much(tmp_path: Path) -> None:
    made = planned(tmp_path, windows(40, [45] * 20))
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
    made = planned(tmp_path, packets)
    assert (made.program.fields["block"], made.program.fields["effort"]) == (
        "3000 B",
        "199.95 ms",
    )  # less the timer slack
    assert "writes-without-pauses" in [each.name for each in made.undoing]


def test_turns_become_requests_and_responses(tmp_path: Path) -> None:
    packets = handshake(50)
    for turn in range(10):
        at, seq = 60 + 300 * turn, 1 + 100 * turn
        packets += [Packet(at, seq=seq, ack=1 + 40 * turn, size=100, flags=ACK | PSH)]
        packets += [Packet(at + 80, back=True, seq=1 + 40 * turn, ack=seq + 100, size=40, flags=ACK | PSH)]
    fields = planned(tmp_path, packets).program.fields
    expected = {"count": 10, "interval": "300 ms", "request": "100 B", "response": "40 B", "think": "29.95 ms"}
    assert fields == expected


@pytest.mark.parametrize("at", ["sender", "receiver"])
def test_the_time_to_answer_is_without_the_transmission_of_both_messages(tmp_path: Path, at: str) -> None:
    """A request of 7 segments takes 7 * 1,526 B at 10 Mbit/s, and the first segment of the answer as much as one."""
    size, think, rate, rtt = 7 * MSS, 5.0, 1e4, 20.0  # rate in bit per ms
    short, long = 8 * (FRAME - MSS) / rate, 8 * FRAME / rate
    packets = handshake(rtt + 2 * short, at=at)
    for turn in range(20):
        begun, seq, back = 40 + 100 * turn, 1 + size * turn, 1 + 2 * MSS * turn
        for place in range(7):
            sent, arrives = begun + 0.001 * place, begun + long * (place + 1) + rtt / 2
            packets.append(Packet(sent if at == "sender" else arrives, seq=seq + place * MSS, ack=back, size=MSS))
            ack = arrives + short + rtt / 2 if at == "sender" else arrives
            packets.append(Packet(ack, back=True, seq=back, ack=seq + (place + 1) * MSS))
        answered = begun + 7 * long + rtt / 2 + think + 0.05  # the timer slack
        for place in range(2):
            seen = answered + rtt / 2 + long * (place + 1) if at == "sender" else answered + 0.001 * place
            packets.append(Packet(seen, back=True, seq=back + place * MSS, ack=seq + size, size=MSS, flags=ACK | PSH))
    made = planned(tmp_path, packets)
    assert made.path.rate is None or made.path.rate == pytest.approx(1e7, rel=0.01)
    assert Duration.of(str(made.program.fields["think"])).seconds == pytest.approx(think / 1000, abs=2e-5)


def test_segments_lost_behind_a_short_queue_are_lost_by_chance(tmp_path: Path) -> None:
    file = Path(shutil.copy(DATA / "lossy.pcap", tmp_path))
    path = measure(look_closely(file))
    assert (path.lost, path.overflowed) == (5, False)


@pytest.mark.parametrize("name", ["lossy.pcap", "transfer.pcap", "hole.pcap", "small_writes.pcap"])
def test_the_files_pass_lab_check_and_are_refused_the_second_time(tmp_path: Path, name: str) -> None:
    capture = Path(shutil.copy(DATA / name, tmp_path))
    pack = tmp_path / "again"
    assert len(api.rebuild(capture, pack)) == 5
    assert not find.check([*pack.glob("experiments/*/*.py"), *pack.glob("topologies/*.yaml")])
    assert "The capture does not show" in (pack / "topologies" / "path.yaml").read_text()
    with pytest.raises(InputError, match="already exists"):
        api.rebuild(capture, pack)


@given(name=st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=40))
def test_any_name_of_a_capture_can_stand_in_the_files(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    tmp_path = tmp_path_factory.mktemp("named")
    made = plan(look_closely(DATA / "lossy.pcap"))
    files.write(made, name, "", tmp_path / "again")
    assert not find.check([*tmp_path.glob("again/experiments/*/*.py"), *tmp_path.glob("again/topologies/*.yaml")])


def test_one_direction_is_refused_with_the_reason(tmp_path: Path) -> None:
    packets = [each for each in windows(40, [20] * 5) if not each.back]
    with pytest.raises(InputError, match="cannot be rebuilt: the capture has one direction only"):
        planned(tmp_path, packets)


def test_a_capture_that_would_run_for_hours_is_refused(tmp_path: Path) -> None:
    packets = windows(40, [20] * 20)
    packets += [replace(packets[-1], ms=400_000)]
    with pytest.raises(InputError, match="hours"):
        planned(tmp_path, packets)


def test_gains_need_a_run(type_here: Type, tmp_path: Path) -> None:
    shutil.copy(DATA / "lossy.pcap", tmp_path / "lossy.pcap")
    assert type_here("lab explain lossy.pcap --rebuild again").stdout.splitlines()[-1] == "next: lab run again"
    answer = type_here("lab explain lossy.pcap --gains again --results none")
    assert answer.returncode == 2
    assert answer.stderr.startswith("lab: ")


def test_the_chance_of_many_losses_is_a_probability() -> None:
    assert _by_chance(2, 3) == pytest.approx(3 * 0.2**2 * 0.8 + 0.2**3)
    assert _by_chance(0, 5000) == pytest.approx(1)
    assert _by_chance(1000, 5000) == pytest.approx(0.5, abs=0.01)
    assert _by_chance(1500, 5000) < 1e-9


def _with_mss(mss: int, size: int) -> list[Packet]:
    """Return a transfer of segments of `size` bytes, whose handshake agrees on `mss`."""
    option = struct.pack(">BBH", 2, 4, mss)
    packets = [replace(each, options=option) if not each.seq else each for each in handshake(20)]
    for turn in range(20):
        packets += [Packet(40 + 20 * turn, seq=1 + size * turn, size=size)]
        packets += [Packet(60 + 20 * turn, back=True, ack=1 + size * (turn + 1))]
    return packets


@pytest.mark.parametrize("mss", [1, 3, 27, 65_496])
def test_an_mtu_that_no_link_can_have_is_refused(tmp_path: Path, mss: int) -> None:
    with pytest.raises(InputError, match=f"need an MTU of {mss + 40:,} B, and a link of the lab has 68 B to 65,535 B"):
        planned(tmp_path, _with_mss(mss, min(mss, 100)))


def test_a_full_segment_that_nobody_saw_decides_no_mtu(tmp_path: Path) -> None:
    packets = [each for each in _with_mss(1448, 100) if each.seq and each.ack]  # without the handshake
    assert planned(tmp_path, packets).mtu is None
    assert planned(tmp_path, _with_mss(1000, 100)).mtu == FoundSetting("1040 B", "full segments carry 1,000 B")


def _read_slowly(bytes_a_second: int) -> list[Packet]:
    """Return a transfer of 65,160 bytes, whose reader then takes so many bytes once a second."""
    left = 65535 - 45 * MSS  # of the first window
    packets = windows(20, [45], window=left)
    for second in range(1, 20):
        packets.append(Packet(1000 * second, back=True, ack=1 + 45 * MSS, window=left + bytes_a_second * second))
    return packets


def test_a_reader_that_would_take_hours_is_refused(tmp_path: Path) -> None:
    fields = planned(tmp_path, _read_slowly(50)).program.fields
    assert (fields["rate"], fields["block"]) == ("400 bit/s", "50 B")
    with pytest.raises(InputError, match="at the rate of its reader, it takes 6,517 s; the lab rebuilds up to 3,000 s"):
        planned(tmp_path, _read_slowly(10))


def test_a_failure_leaves_no_part_of_the_pack(tmp_path: Path) -> None:
    pack = tmp_path / "again"
    pack.mkdir()
    (pack / "experiments").write_text("a file of the user's")
    with pytest.raises(MachineError, match="cannot be written: Not a directory"):
        api.rebuild(DATA / "lossy.pcap", pack)
    assert [each.name for each in pack.iterdir()] == ["experiments"]


def test_a_link_that_leads_nowhere_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "topologies").mkdir()
    (tmp_path / "topologies" / "path.yaml").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="already exists"):
        api.rebuild(DATA / "lossy.pcap", tmp_path)
    assert not (tmp_path / "elsewhere").exists()


def _two_connections(file: Path) -> Path:
    small = [replace(each, port=40001) for each in windows(40, [20] * 5)]
    file.write_bytes(pcap(sorted([*windows(40, [20] * 10), *small], key=lambda each: each.ms)))
    return file


def test_gains_are_shown_for_the_connection_that_was_rebuilt(tmp_path: Path) -> None:
    capture = _two_connections(tmp_path / "two.pcap")
    api.rebuild(capture, tmp_path / "again", flow=2)
    gains = Gains("reproduced", (), (), files.source_of(tmp_path / "again"))
    assert transfer_of(api.explain(capture), gains).number == 2
    text = page.render(api.explain(capture), gains)
    assert text.index('id="connection-2"') < text.index('id="gains"')
    assert display.plain(api.explain(capture), gains)["gains"]["connection"] == 2
    with pytest.raises(InputError, match="connection 2, which is not explained; choose --flow 2"):
        transfer_of(first := api.explain(capture, flow=1), gains)
    assert first.counted == "2 TCP connections, of which this is number 1"


def test_gains_are_not_shown_for_another_capture(tmp_path: Path) -> None:
    capture = _two_connections(tmp_path / "two.pcap")
    api.rebuild(capture, tmp_path / "again", flow=2)
    gains = Gains("reproduced", (), (), files.source_of(tmp_path / "again"))
    packed = tmp_path / "two.pcap.gz"
    packed.write_bytes(gzip.compress(capture.read_bytes()))
    check_capture(gains, packed)
    with pytest.raises(InputError, match="is not the capture whose transfer was rebuilt"):
        check_capture(gains, DATA / "lossy.pcap")


def test_the_command_shows_gains_only_for_their_capture_and_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    capture = _two_connections(tmp_path / "two.pcap")
    api.rebuild(capture, tmp_path / "again", flow=2)
    monkeypatch.setattr(api, "gains", lambda folder, **_: Gains("reproduced", (), (), files.source_of(folder)))
    with pytest.raises(InputError, match="is not the capture"):
        commands.explain(DATA / "lossy.pcap", gains=tmp_path / "again")
    with pytest.raises(InputError, match="choose --flow 2"):
        commands.explain(capture, flow=1, gains=tmp_path / "again", as_json=True)
