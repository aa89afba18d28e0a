"""`lab export` writes a whole file or none, and each mistake has one message."""

from __future__ import annotations

import io
import json
import os
import re
import struct
import tracemalloc
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as protos
from typer.testing import CliRunner

from lab.base.writing import whole
from lab.cli.app import app
from lab.errors import InputError, LabError, MachineError
from lab.ext.export import api, perfetto, qlog
from lab.record.record import Record
from tests.examples import examples
from tests.ext.export.conftest import LOSSY, Make
from tests.ext.export.test_qlog import SCHEMA
from tests.metric.conftest import packet, write
from tests.report.conftest import Keep, here, keep

__all__ = ["here", "keep"]  # fixtures
SEEDS = count(1)  # of records that differ only in their bytes


@pytest.mark.parametrize("kind", ["qlog", "perfetto"])
def test_a_trial_is_written_by_its_claim_and_by_its_address(kind: str, keep: Keep, here: Path) -> None:
    records = keep("header")
    suffix = {"qlog": "qlog", "perfetto": "perfetto-trace"}[kind]
    ran = CliRunner().invoke(app, ["export", "toy/header", f"--{kind}", "--json"])
    assert ran.exit_code == 0, ran.output
    plain = json.loads(ran.stdout)
    assert plain["file"] == f"header.on.seed-1.{suffix}"
    assert plain["events"] > 0
    write_it = {"qlog": api.export_qlog, "perfetto": api.export_perfetto}[kind]
    file, events = write_it(records[0].address[:12], "same")
    assert events == plain["events"]
    assert file.read_bytes() == (here / plain["file"]).read_bytes()
    other, _ = write_it("toy/header", arm="longer", seed=1)
    assert other.name == f"header.longer.seed-1.{suffix}"


def test_a_table_and_a_report_are_written(keep: Keep, here: Path) -> None:
    keep("header")
    ran = CliRunner().invoke(app, ["export", "toy", "--table", "figures.csv"])
    assert (ran.exit_code, ran.stdout) == (0, "figures.csv: 2 rows\n")
    ran = CliRunner().invoke(app, ["export", "--kcidb"])
    assert (ran.exit_code, ran.stdout) == (0, "kcidb.json: 3 tests\n")
    assert {path.name for path in here.iterdir()} == {"experiments", "results", "figures.csv", "kcidb.json"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "name one of --qlog, --perfetto, --tcp-info, --wireshark, --table, --kcidb"),
        (["--qlog", "--kcidb"], "name one of"),
        (["--qlog"], "--qlog takes one trial"),
        (["a", "b", "--perfetto"], "--perfetto takes one trial"),
        (["toy/header", "--qlog", "--origin", "x"], "--origin does not go with --qlog, only with --kcidb"),
        (["--table", "t.csv", "-o", "x"], "--output does not go with --table"),
        (["--kcidb", "--seed", "1"], "--seed does not go with --kcidb, only with --qlog or --perfetto"),
        (["toy", "--wireshark", "x"], "a name does not go with --wireshark"),
        (["toy", "--qlog"], "toy is not a single claim"),
        (["toy/unrun", "--qlog"], "has no trial of toy/unrun; run `lab run toy/unrun`"),
        (["toy/header", "--qlog", "--seed", "7"], "has no trial of toy/header, seed 7"),
        (["00000000", "--qlog"], "no address begins with 00000000 in results"),
        (["00000000", "--qlog", "--arm", "on"], "leave out --arm"),
        (["toy", "--table", "t.xlsx"], "write a file that ends in"),
        (["toy/header", "--qlog", "-o", "no/such/folder"], "cannot write no/such/folder"),
        (["toy/header", "--qlog", "-o", "experiments"], "cannot write experiments"),
    ],
)
def test_a_mistake_has_one_message_and_leaves_nothing(arguments: list[str], said: str, keep: Keep, here: Path) -> None:
    keep("header")
    before = sorted(here.rglob("*"))
    with pytest.raises((InputError, MachineError), match=re.escape(said)):
        CliRunner().invoke(app, ["export", *arguments], catch_exceptions=False)
    assert [path for path in sorted(here.rglob("*")) if "predictions" not in path.parts] == before


def test_a_failure_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.write_text("old")
    with pytest.raises(UnicodeEncodeError), whole(target) as path:
        path.write_text("half \ud800", encoding="utf-8")
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("out", "old")]
    (tmp_path / "link").symlink_to(target)
    with whole(tmp_path / "link") as path:
        path.write_text("new")
    assert target.read_text() == "new"
    assert (tmp_path / "link").is_symlink()


def test_a_pipe_is_written_and_not_replaced(lossy: Record, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with whole(pipe) as path, path.open("wb") as file:
        file.write(b"{}")
    assert os.read(reading, 10) == b"{}"
    os.close(reading)
    assert pipe.is_fifo()
    assert lossy.address


@pytest.mark.long
def test_a_longer_capture_needs_no_more_memory(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lab.metric.flow._KEPT", 0)  # as for a capture of many millions of packets
    monkeypatch.setattr("lab.metric.capture._BLOCK", 256)
    data, ack = packet(True, 1, 1, size=1), packet(False, 1, 1)

    def peak(count: int) -> int:
        file = tmp_path / f"{count}.pcap"
        write(file, [each for n in range(count) for each in (_numbered(data, 1 + n, 1), _numbered(ack, 1, 2 + n))])
        record = make({"capture.sender.eth0.pcap": file}, seed=count)
        tracemalloc.start()
        with (tmp_path / "out").open("wb") as out:
            assert qlog.write(record, out) == 2 * count
        used = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return used

    assert peak(8000) < 2 * peak(2000)


def _numbered(segment: bytes, seq: int, ack: int) -> bytes:
    """Return the frame with these TCP numbers, which follow the headers of Ethernet and IPv4, and the ports."""
    return segment[:38] + struct.pack(">II", seq, ack) + segment[46:]


@settings(examples(30), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    changes=st.lists(st.tuples(st.integers(0, 60_000), st.integers(0, 255)), min_size=1, max_size=40),
    samples=st.lists(st.tuples(st.integers(0, 4_000), st.integers(0, 255)), max_size=10),
    length=st.integers(0, 60_000),
)
def test_damaged_bytes_give_an_error_of_the_lab_or_a_whole_file(
    changes: list[tuple[int, int]], samples: list[tuple[int, int]], length: int, make: Make
) -> None:
    capture, taken = (
        _changed(LOSSY[name].read_bytes(), flips)
        for name, flips in (("capture.sender.eth0.pcap", changes), ("tcp_info.sender.bin", samples))
    )
    record = make({"capture.sender.eth0.pcap": capture[:length], "tcp_info.sender.bin": taken}, seed=next(SEEDS))
    file = io.BytesIO()
    with suppress(LabError):
        qlog.write(record, file)
        SCHEMA.validate(json.loads(file.getvalue()))
    file = io.BytesIO()
    with suppress(LabError):
        assert perfetto.write(record, file) > 0
        protos.Trace.FromString(file.getvalue())


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("queue.path.forward.json", b'[{"ns": "1"}]'),
        ("queue.path.forward.json", b'[{"ns": 1, "backlog": 99999999999999999999, "drops": 0}]'),
        ("queue.path.back.json", b"{}"),
        ("netcat.json", b'{"start_ns": []}'),
        ("bulk.json", b"7"),
        ("tcp_info.sender.bin", struct.pack("<qII", 1, 1 << 16 | 2, 5) + bytes(5)),
    ],
)
def test_an_output_of_another_form_is_named(name: str, content: bytes, make: Make) -> None:
    with pytest.raises(LabError):
        perfetto.write(make({name: content}), io.BytesIO())
    if "tcp_info" in name:
        with pytest.raises(LabError):
            qlog.write(make({name: content}, seed=2), io.BytesIO())


def _changed(data: bytes, flips: list[tuple[int, int]]) -> bytes:
    found = bytearray(data)
    for at, value in flips:
        found[at % len(found)] = value
    return bytes(found)
