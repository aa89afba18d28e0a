"""The samples of a connection as a table: what `ss -ti` prints, over time."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import polars
import pytest
from typer.testing import CliRunner

from lab.cli.app import app
from lab.errors import InputError, LabError
from lab.ext.export import tcp_info
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
    assert {(row["node"], int(row["local_port"]), int(row["remote_port"])) for row in rows} == {
        ("sender", samples.local_port, samples.remote_port)
    }
    for name in FIELDS:
        expected = [str(each) for each in samples[name].tolist()] if name in samples else [""] * len(samples)
        assert [row[name] for row in rows] == expected
    assert set(OF_SS) <= set(rows[0])


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_every_format_has_the_same_figures(lossy: Record, tmp_path: Path, suffix: str) -> None:
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
