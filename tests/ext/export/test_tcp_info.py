"""The samples of a connection as a table: what `ss -ti` prints, over time."""

from __future__ import annotations

import csv
import io
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from lab.cli.app import app
from lab.errors import InputError, LabError
from lab.ext.export import tcp_info
from lab.guest.outputs import TCP_INFO_RECORD
from lab.metric.tcp_info import FIELDS, read
from lab.record.record import Record
from tests.ext.export.conftest import DATA, LOSSY, Make
from tests.report.conftest import Keep, here, keep

__all__ = ["here", "keep"]  # fixtures
OF_SS = (  # what people read from `ss -tin`
    *("snd_cwnd", "snd_ssthresh", "rtt", "rttvar", "min_rtt", "pacing_rate", "delivery_rate", "bytes_retrans"),
    *("bytes_acked", "unacked", "lost", "retrans", "reordering", "sndbuf_limited", "rwnd_limited", "busy_time"),
    *("snd_mss", "rcv_space", "notsent_bytes", "delivered"),
)


def test_the_table_has_the_kernels_figures(lossy: Record, tmp_path: Path) -> None:
    (samples,) = read(DATA / "lossy.tcp_info.bin")
    assert tcp_info.write(lossy, tmp_path / "a.csv") == len(samples)
    rows = list(csv.DictReader(io.StringIO((tmp_path / "a.csv").read_text())))
    assert [int(row["time_ns"]) for row in rows] == samples.time_ns.tolist()
    assert {(row["node"], row["connection"], int(row["local_port"]), int(row["remote_port"])) for row in rows} == {
        ("sender", "0", samples.local_port, samples.remote_port)
    }
    for name in FIELDS:
        expected = [str(each) for each in samples[name].tolist()] if name in samples else [""] * len(samples)
        assert [row[name] for row in rows] == expected
    assert set(OF_SS) <= set(rows[0])


def _samples(*rows: tuple[int, int, int, int], ports: int = 5001 << 16 | 40000) -> bytes:
    """Samples of connections with the same ports: their moment, state, and segments sent and received."""
    packed = b""
    for time_ns, state, sent, received in rows:
        info = bytearray(248)
        info[0] = state
        struct.pack_into("<II", info, FIELDS["segs_out"][0], sent, received)
        packed += TCP_INFO_RECORD.pack(time_ns, ports, len(info)) + info
    return packed


def _segments(path: Path, content: bytes) -> list[list[tuple[int, int]]]:
    path.write_bytes(content)
    return [list(zip(each.time_ns.tolist(), each["segs_out"].tolist(), strict=True)) for each in read(path)]


def test_two_clients_with_the_same_port_are_two_connections(make: Make, tmp_path: Path) -> None:
    """The first one ends before the last sample. Both send alike, so only their order tells them apart."""
    both = _samples((1, 1, 90, 9), (1, 1, 60, 6), (2, 1, 140, 14), (2, 1, 100, 10), (3, 1, 101, 11))
    assert _segments(tmp_path / "a.bin", both) == [[(1, 90), (2, 140)], [(1, 60), (2, 100), (3, 101)]]
    record = make({"tcp_info.sender.bin": both}, seed=5)
    tcp_info.write(record, tmp_path / "a.csv")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "a.csv").read_text())))
    assert [row["connection"] + row["time_ns"] for row in rows] == ["01", "02", "11", "12", "13"]


@pytest.mark.parametrize("again", [(3, 1, 2, 1), (3, 2, 30, 30), (3, 1, 25, 1)], ids=["both", "state", "received"])
def test_a_port_that_is_used_again_is_another_connection(tmp_path: Path, again: tuple[int, int, int, int]) -> None:
    content = _samples((1, 1, 10, 10), (2, 4, 20, 20), again)
    assert _segments(tmp_path / "a.bin", content) == [[(1, 10), (2, 20)], [(3, again[2])]]


def test_one_connection_stays_one(tmp_path: Path) -> None:
    content = _samples((1, 2, 1, 0), (2, 1, 5, 5), (3, 1, 5, 5), (4, 4, 9, 9), (9, 5, 9, 9))
    assert _segments(tmp_path / "a.bin", content) == [[(1, 1), (2, 5), (3, 5), (4, 9), (9, 9)]]


def test_very_many_alike_at_once_are_refused(tmp_path: Path) -> None:
    """A hostile guest could make them take minutes."""
    (tmp_path / "a.bin").write_bytes(_samples(*[(1, 1, 1, 1)] * 101))
    with pytest.raises(LabError, match="has 101 connections with the same ports at the same time"):
        read(tmp_path / "a.bin")


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 12), st.integers(0, 9), st.integers(0, 9)), max_size=40))
def test_no_sample_is_lost_and_no_number_falls(tmp_path_factory: pytest.TempPathFactory, rows: list[Any]) -> None:
    rows.sort(key=lambda row: row[0])
    found = _segments(tmp_path_factory.mktemp("a") / "a.bin", _samples(*rows))
    assert sorted(each for one in found for each in one) == sorted((row[0], row[2]) for row in rows)
    for one in found:
        assert [time for time, _ in one] == sorted({time for time, _ in one}), "one sample a moment"
        assert [sent for _, sent in one] == sorted(sent for _, sent in one)


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_every_format_has_the_same_figures(lossy: Record, tmp_path: Path, suffix: str) -> None:
    import polars

    tcp_info.write(lossy, tmp_path / "a.csv")
    tcp_info.write(lossy, tmp_path / f"a{suffix}")
    wanted = polars.read_csv(tmp_path / "a.csv", infer_schema_length=None)
    found = (polars.read_parquet if suffix == ".parquet" else polars.read_ipc)(tmp_path / f"a{suffix}")
    assert found.columns == wanted.columns
    for name in found.columns:
        assert found[name].cast(polars.String).fill_null("").to_list() == [
            "" if each is None else str(each) for each in wanted[name].to_list()
        ]


def test_a_trial_without_samples_names_the_missing_probe(keep: Keep, here: Path) -> None:
    keep("header")
    ran = CliRunner().invoke(app, ["export", "toy/header", "--tcp-info"])
    assert isinstance(ran.exception, InputError)
    assert str(ran.exception).endswith("has no samples of connections; add a TcpInfo probe, and run the claim again")
    assert not list(here.glob("*.csv"))


def test_unknown_formats_and_damaged_samples_are_named(make: Make, lossy: Record, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"write a file that ends in \.csv"):
        tcp_info.write(lossy, tmp_path / "a.txt")
    cut = LOSSY["tcp_info.sender.bin"].read_bytes()[:-1]
    with pytest.raises(LabError, match="ends within a sample"):
        tcp_info.write(make({"tcp_info.sender.bin": cut}, seed=9), tmp_path / "a.csv")
