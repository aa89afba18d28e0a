"""Perfetto's own trace processor opens the trace, does not complain, and finds the record's figures with SQL."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as protos

from lab import Bulk, Flow, Flows
from lab.ext.export import perfetto
from lab.ext.export.protobuf import data, number
from lab.ext.pagecheck.browser import Browser, browser
from lab.guest.outputs import TCP_INFO_RECORD
from lab.metric import Capture
from lab.metric.packets import ACK, FIN, SYN
from lab.metric.tcp_info import FIELDS, read
from lab.record.store import Store
from lab.units import to_plain
from tests.ext.export.conftest import DATA, LOSSY, NETWORK
from tests.trials import trial

if TYPE_CHECKING:
    from tests.ext.export.processor import Processor

pytestmark = [pytest.mark.long, pytest.mark.needs("chromium")]

CAPTURE = Capture(DATA / "lossy.pcap")
SENT = CAPTURE.tcp & (CAPTURE.source_port == 37912)
RECEIVED = CAPTURE.tcp & ~SENT
(SAMPLES,) = read(DATA / "lossy.tcp_info.bin")
WINDOWS = (SAMPLES["snd_cwnd"] * SAMPLES["snd_mss"]).tolist()
FIRST, LAST = int(CAPTURE.time_ns[0]), int(CAPTURE.time_ns[-1])
QUEUE = [{"ns": FIRST + at, "packets": at, "drops": at // 2, "backlog": at % 3} for at in range(6)]
CONNECTION = "10.0.1.1:37912 > 10.0.1.2:5001 on eth0"
GUIDE = Path(__file__).parents[3].joinpath("docs/export.md").read_text()
COUNTERS = """
    SELECT value FROM counter JOIN process_counter_track AS track ON track.id = track_id JOIN process USING (upid)
    WHERE process.name = '{}' AND track.name = '{}' ORDER BY ts"""


def _twice(cwnd: int) -> bytes:
    """Return samples of two connections with the same ports, one each. Windows are `cwnd` + 90 and + 60 segments."""
    packed = b""
    for segments in (90, 60):
        info = bytearray(248)
        info[0] = 1  # established
        for name, value in (("snd_cwnd", cwnd + segments), ("snd_mss", 1000), ("segs_out", segments)):
            struct.pack_into("<I", info, FIELDS[name][0], value)
        packed += TCP_INFO_RECORD.pack(FIRST, 5001 << 16 | 40000, len(info)) + info
    return packed


def opened(screen: Browser, trace: Path) -> Processor:
    """Open a trace. The import is here because the processor's client imports libraries of data frames."""
    from tests.ext.export.processor import Processor

    return Processor(screen, trace)


@pytest.fixture(scope="module")
def screen() -> Iterator[Browser]:
    with browser() as screen:
        yield screen


@pytest.fixture(scope="module")
def processor(screen: Browser, tmp_path_factory: pytest.TempPathFactory) -> Processor:
    """The processor, with the trace of a transfer that has a capture, samples, a queue and programs' times."""
    folder = tmp_path_factory.mktemp("trace")
    outputs = {name: path.read_bytes() for name, path in LOSSY.items()} | {
        "tcp_info.receiver.bin": _twice(100),
        "queue.path.forward.json": json.dumps(QUEUE).encode(),
        "a/bulk.sender.json": json.dumps({"start_ns": FIRST}).encode(),
        "a/bulk.json": json.dumps({"bytes": 1, "first_bytes": 1, "first_ns": FIRST + 5, "last_ns": LAST}).encode(),
    }
    workload = to_plain(Flows((Flow("a", Bulk(client="sender", server="receiver")),)))
    with Store(folder / "results").stage(trial(network=NETWORK, workload=workload)) as stage:
        for name, content in outputs.items():
            (stage.out / name).parent.mkdir(exist_ok=True)
            (stage.out / name).write_bytes(content)
        record = stage.commit({})
    with (folder / "trace").open("wb") as file:
        perfetto.write(record, file)
    return opened(screen, folder / "trace")


def test_it_reads_everything(processor: Processor) -> None:
    assert processor.complaints() == {}


def test_it_counts_what_it_cannot_read(screen: Browser, tmp_path: Path) -> None:
    """A counter's value on a track that is not described: else no complaint would mean nothing."""
    event = number(9, protos.TrackEvent.TYPE_COUNTER) + number(11, 5) + number(30, 7)
    (tmp_path / "trace").write_bytes(data(1, number(8, FIRST) + data(11, event) + number(10, 1) + number(13, 1)))
    assert opened(screen, tmp_path / "trace").complaints() == {"track_event_tokenizer_errors": 1}


def test_the_guide_has_its_version(processor: Processor) -> None:
    from tests.ext.export.processor import build

    assert processor.version == build().name
    assert f"trace processor {processor.version.partition('-')[0]}," in GUIDE


def test_the_guides_query_answers(processor: Processor) -> None:
    (query,) = re.findall(r"^```sql\n(.+?)^```", GUIDE, re.MULTILINE | re.DOTALL)
    found = processor.rows(query)
    assert ("sender", "cwnd", max(WINDOWS)) in found
    assert ("link path", "packets in the queue, forward", 2) in found


def test_nodes_and_links_are_processes(processor: Processor) -> None:
    found = processor.rows("SELECT name FROM process WHERE pid > 0 ORDER BY name")
    assert found == [("link path",), ("receiver",), ("sender",)]


def test_every_segment_is_a_slice_of_its_direction(processor: Processor) -> None:
    found = processor.rows(f"""
        SELECT track.name, COUNT(), SUM(EXTRACT_ARG(arg_set_id, 'debug.length')), MIN(ts), MAX(ts), MAX(dur)
        FROM slice JOIN track ON track.id = track_id JOIN track AS parent ON parent.id = track.parent_id
        WHERE parent.name = '{CONNECTION}' GROUP BY track.name""")
    assert found == [
        (name, int(way.sum()), int(CAPTURE.payload[way].sum()), *map(int, CAPTURE.time_ns[way][[0, -1]]), 0)
        for name, way in (("received", RECEIVED), ("sent", SENT))
    ]


def test_data_and_acks_have_their_names(processor: Processor) -> None:
    names = dict(processor.rows("SELECT slice.name, COUNT() FROM slice WHERE dur = 0 GROUP BY name"))
    plain = CAPTURE.tcp & (CAPTURE.flags & (SYN | FIN) == 0)
    assert names["data"] + names["retransmission"] == int((plain & (CAPTURE.payload > 0)).sum())
    assert names["ACK"] == int((plain & (CAPTURE.flags & ACK > 0) & (CAPTURE.payload == 0)).sum())


def test_the_window_is_that_of_tcp_info(processor: Processor) -> None:
    changes = [now for last, now in zip([None, *WINDOWS], WINDOWS, strict=False) if now != last]
    assert [value for (value,) in processor.rows(COUNTERS.format("sender", "cwnd"))] == changes


@pytest.mark.parametrize(
    ("name", "values"), [("packets in the queue, forward", [0, 1, 2, 0, 1, 2]), ("drops, forward", [0, 1, 2])]
)
def test_the_queue_is_a_counter_of_its_link(processor: Processor, name: str, values: list[int]) -> None:
    assert [value for (value,) in processor.rows(COUNTERS.format("link path", name))] == values


def test_programs_are_slices_with_their_times(processor: Processor) -> None:
    found = processor.rows("""
        SELECT process.name AS node, slice.name, ts, dur FROM slice JOIN process_track AS track ON track.id = track_id
        JOIN process USING (upid) WHERE dur > 0 ORDER BY ts""")
    assert found == [
        ("sender", "a: sender", FIRST, LAST - FIRST),
        ("receiver", "a: receiver", FIRST + 5, LAST - FIRST - 5),
    ]


def test_connections_with_the_same_ports_stay_apart(processor: Processor) -> None:
    found = processor.rows("""
        SELECT parent.id, value FROM counter JOIN track ON track.id = track_id
        JOIN track AS parent ON parent.id = track.parent_id
        WHERE parent.name = 'port 5001 > port 40000' AND track.name = 'cwnd' ORDER BY value""")
    assert [value for _, value in found] == [160_000, 190_000]
    assert len({parent for parent, _ in found}) == 2
