"""What a trial's page shows beside the packets: its answer, its traffic, and the whole trial on one time axis."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest

from lab.guest import outputs
from lab.guest.workload import Bulk, Flow, Flows, Iperf3, Ping
from lab.metric import Capture, bulk
from lab.metric.tcp_info import Samples
from lab.record.record import Record
from lab.record.store import Store
from lab.report import trials
from lab.report.answer import answers
from lab.report.article import Article
from lab.report.flow import flow_of
from lab.report.timeline import Timeline, _panels, timeline
from lab.report.tools import commands_of
from lab.units import Duration, to_plain
from tests.report.conftest import Keep, write_trials

Toy = Callable[[], Article]
CAPTURE = "capture.sender.eth0.pcap"


def panels(found: Timeline | None) -> list[str]:
    assert found
    return re.findall(r'<text x="[\d.]+" y="[\d.]+">([^<]*)', found.drawn)


def test_a_trial_has_goodput_windows_and_round_trips_on_one_axis(keep: Keep, monkeypatch: pytest.MonkeyPatch) -> None:
    (record, *_) = keep("header")
    monkeypatch.setattr("lab.report.flow.DrawnFlow.is_bulk", True)
    found = timeline(record, flow_of(record, CAPTURE))
    names = panels(found)
    assert found
    drawn = found.drawn
    assert found.csv.splitlines()[1].startswith("goodput,bit/s,")
    assert names[0] == "goodput, bit/s"
    assert names[1] == "bytes"
    assert len(re.findall('class="times"', drawn)) == 1
    assert {"goodput", "rwnd"} <= {*re.findall(r'data-name="([^"]+)"', drawn)}
    assert 'data-unit="bit/s"' in drawn


def _tcp_info(now: int, local: int, remote: int) -> bytes:
    """A sample of a connection, as the probe writes it."""
    info = bytes(248)
    return outputs.TCP_INFO_RECORD.pack(now, local << 16 | remote, len(info)) + info


def test_the_samples_are_those_of_the_connection_with_the_data(keep: Keep, tmp_path: Path) -> None:
    """A program may have others, such as iperf3's connection for control, which is sampled as long."""
    (record, *_) = keep("header")
    own = bulk(Capture(record.path(CAPTURE))).flow
    ports = own.source_port, own.destination_port
    for name, kept in (("both", {(ports[0], 5999): 50, ports: 10}), ("control", {(ports[0], 5999): 50})):
        with Store(tmp_path / name).stage(record.trial) as stage:
            (stage.out / CAPTURE).write_bytes(record.path(CAPTURE).read_bytes())
            samples = (_tcp_info(at, *each) for each, count in kept.items() for at in range(count))
            (stage.out / outputs.tcp_info("sender")).write_bytes(b"".join(samples))
            flow = flow_of(stage.commit({}), CAPTURE)
        assert flow
        if name == "control":
            assert flow.samples is None
        else:
            assert flow.samples
            assert ((flow.samples.local_port, flow.samples.remote_port), len(flow.samples)) == (ports, 10)


def test_the_least_round_trip_is_that_of_all_packets(keep: Keep, monkeypatch: pytest.MonkeyPatch) -> None:
    """A drawing has the highest point of each interval alone."""
    (record, *_) = keep("header")
    found = flow_of(record, CAPTURE)
    assert found
    flow = replace(found, at_sender=True)
    (each,) = [panel for panel in flow.panels() if panel.title.startswith("round trip")]
    trips = [trip for _, trip in each.lines[0].points]
    assert min(trips) < max(trips)
    monkeypatch.setattr("lab.report.flow._POINTS", 1)
    (drawn,) = [panel for panel in flow.panels() if panel.title.startswith("round trip")]
    assert len(drawn.lines[0].points) == 1
    assert drawn.title == each.title
    assert f"at least {min(trips):.4g};" in drawn.title


def test_without_a_capture_the_kernels_samples_show_the_trial(keep: Keep) -> None:
    (record,) = keep("rate")
    assert panels(timeline(record, None)) == ["goodput, bit/s", "bytes", "smoothed round trip, ms"]


def test_a_sampled_queue_has_a_panel(keep: Keep) -> None:
    (record,) = keep("rate")
    start = 10**18
    samples = [{"ns": start + 10_000_000 * index, "packets": 0, "drops": 0, "backlog": index} for index in range(5)]
    queue = record.folder / "out" / "queue.path.forward.json"
    contents = json.loads((record.folder / "record.json").read_bytes())
    for text, has in ((json.dumps(samples), True), ("[1, 2]", False), ('[{"ns": 1e99}]', False)):
        queue.write_text(text)
        contents["outputs"][queue.name] = {"bytes": len(text), "sha256": "0" * 64}
        (record.folder / "record.json").write_text(json.dumps(contents))
        found = panels(timeline(Record(record.folder), None))
        assert ("queue path.forward, packets" in found) == has


def test_where_no_time_passes_the_packets_order_stands_instead_of_an_empty_frame(
    keep: Keep, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (record, *_) = keep("header")
    flow = flow_of(record, CAPTURE)
    assert flow
    for is_bulk, seconds, said in ((True, 0.0, "seen at the same instant"), (False, 0.25, "segments within 250.0 ms")):
        monkeypatch.setattr("lab.report.flow.DrawnFlow.is_bulk", is_bulk)
        monkeypatch.setattr("lab.report.flow.DrawnFlow.seconds", seconds)
        shown = "".join(trials._over_time(record, flow, tmp_path, CAPTURE))
        assert "<svg" not in shown
        assert f"{said}" in shown
        rows = re.findall(r"^ *\d+  -?[\d.]+ ms  \d+ → \d+  ([A-Z ]+)  [\d,]+ B", shown, re.MULTILINE)
        assert rows[:2] == ["SYN", "SYN ACK"]
        assert len(rows) == trials._LISTED
    monkeypatch.setattr("lab.report.flow.DrawnFlow.seconds", 0.0)
    (tmp_path / f"{CAPTURE}.gz").write_bytes(b"")
    assert "<svg" not in "".join(trials._packets(record, CAPTURE, flow, tmp_path))


def test_a_trial_shows_the_settings_in_force_and_who_sets_them(keep: Keep, toy: Toy) -> None:
    on, longer = keep("header")
    told = answers(toy())
    row = r"<code>net.ipv4.tcp_rmem</code></th>(?:<td[^>]*>{}</td>)+<td[^>]*>{}</td>"
    assert re.search(row.format("1 2 3", "the arm"), told[longer.address])
    assert "<summary>Settings in force: net.ipv4.tcp_rmem = 1 2 3, set by the arm</summary>" in told[longer.address]
    assert re.search(row.format("[^<]+", "the test bed"), told[on.address])
    assert "1 2 3" not in told[on.address]


def test_an_invalid_claim_has_no_answer_but_what_still_holds(keep: Keep, toy: Toy) -> None:
    on, longer = keep("header")
    contents = json.loads((on.folder / "record.json").read_bytes())
    contents["invalid"] = ["the wire was slow"]
    (on.folder / "record.json").write_text(json.dumps(contents))
    for record in (on, longer):
        told = answers(toy())[record.address]
        assert "There is no answer. A trial of this claim is invalid: " in told
        assert "the wire was slow" in told
        assert "These figures still hold: longer: 32\N{NO-BREAK SPACE}B measured." in told


def test_an_arm_has_its_verdict_and_a_ratio_leads_to_its_other_trial(here: Path, keep: Keep, toy: Toy) -> None:
    source = here / "experiments" / "toy" / "header.py"
    arms = 'Arm("off"), Arm("over", Reported(1, "the same"), relative_to="off", sysctls={"net.ipv4.tcp_sack": 1}),'
    text = source.read_text()
    start, end = text.index("        Arm("), text.index("    ),\n    tolerance")
    source.write_text(text[:start] + arms + text[end:].replace("not reproduced", "reproduced"))
    off, over = keep("header")
    told = answers(toy())
    assert f'<a href="../{off.address}/index.html">÷ off</a>' in told[over.address]
    assert f'<a href="../{over.address}/index.html">of over</a>' in told[off.address]
    assert told[over.address].count('class="verdict') == 2, "of the claim, and of its only arm"


def test_an_event_of_one_of_several_trials_is_no_number(keep: Keep, toy: Toy) -> None:
    few, many = keep("sweep")
    told = answers(toy())
    assert "<strong>yes</strong>" in told[few.address]
    assert "<strong>no</strong>" in told[many.address]


def test_the_traffic_is_told_as_it_was_started(keep: Keep) -> None:
    (record,) = keep("rate")
    said = dict(commands_of(record))
    assert re.fullmatch(r"qperf --listen_port 19765 .* --time 2 10\.\S+ tcp_bw", said["sender"])
    assert said["receiver"].startswith("qperf --listen_port 19765")


@pytest.mark.parametrize(
    ("workload", "expected"),
    [
        (Iperf3(udp_rate=None), ("iperf3 -s -1 -p 5201", "iperf3 -c 10.")),
        (Ping(count=3), ("ping -n -c 3 -i 1 -s 56 10.",)),
        (Bulk(), ("bulk, sender connects to receiver",)),
        (
            Flows((Flow("a", Iperf3()), Flow("b", Bulk(), start=Duration.of("1 s")))),
            ("-p 10001", "-p 10001", "  # after 1 s"),
        ),
    ],
    ids=["iperf3", "ping", "own", "several"],
)
def test_each_tool_has_its_command_line(keep: Keep, workload: object, expected: tuple[str, ...]) -> None:
    (record,) = keep("rate", workload=to_plain(workload))
    found = [said for _, said in commands_of(record)]
    assert len(found) == len(expected)
    for said, part in zip(found, expected, strict=True):
        assert part in said


def test_the_answer_of_a_trial_comes_first(keep: Keep, toy: Toy, tmp_path: Path) -> None:
    records = keep("header")
    told = answers(toy())
    assert told.keys() == {record.address for record in toy().records}
    write_trials(records[:1], tmp_path / "report", told)
    page = (tmp_path / "report" / "trials" / records[0].address / "index.html").read_text()
    parts = (
        '<p class="answer"><span class="verdict not-reproduced"',
        '<a href="../../toy.html#header">A header',
        ">Claimed<",
        ">Predicted<",
        "20 B",
        "<strong>32 B</strong>",
        "The whole trial",
        "lab run toy/header --kernel 7.2 --results again",
        "Time-sequence graph",
        "SHA-256",
    )
    order = [page.index(part) for part in parts]
    assert order == sorted(order)


def test_every_output_of_a_trial_is_linked(keep: Keep, tmp_path: Path) -> None:
    record = keep("header", "long\n" * 100_000)[0]
    write_trials([record], tmp_path / "report")
    place = tmp_path / "report" / "trials" / record.address
    page = (place / "index.html").read_text()
    for name in record.outputs:
        (target,) = re.findall(rf'href="({re.escape(name)}(?:\.gz)?)">{re.escape(name)}<', page)
        assert (place / target).is_file()
    assert (place / "notes.txt.gz").is_file(), "a long one is packed"


def test_a_trial_is_run_again_as_it_was(keep: Keep) -> None:
    (record,) = keep("rate", seed=7)
    assert trials._again(record.trial) == "lab run toy/rate --seed 7 --kernel 7.2 --results again"
    real = msgspec.structs.replace(record.trial, on="host", clock="real", repeat=2)
    assert trials._again(real) == "lab run toy/rate --seed 7 --on host --repeat 3 --results again"


def test_samples_of_a_steady_flow_have_no_steps() -> None:
    """A burst each 100 ms, seen every 10 ms: the mean is over several round trips."""
    times = np.arange(500) * 10_000_000
    raw = np.zeros((500, 248), np.uint8)

    def column(offset: int, kind: str, values: object) -> None:
        size = np.dtype(kind).itemsize
        column = np.broadcast_to(np.asarray(values, kind), 500).copy()
        raw[:, offset : offset + size] = column.view(np.uint8).reshape(500, size)

    column(120, "<u8", 100_000 * (times // 103_000_000))
    column(68, "<u4", 103_000)
    panel = next(_panels(Samples(times, 1, 2, raw), int(times[11]), 5.0))
    rates = [rate for _, rate in panel.lines[0].points]
    assert rates == pytest.approx([8 * 100_000 / 0.103] * len(rates), rel=0.03)


def test_a_witness_says_that_it_does_not_count_and_what_it_is_for(keep: Keep, toy: Toy) -> None:
    on, longer = keep("header")
    told = answers(toy())
    assert "This trial does not count for the verdict. It tests an explanation: it was " in told[longer.address]
    assert "does not count" not in told[on.address]
