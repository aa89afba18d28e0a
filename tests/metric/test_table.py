"""A capture's table holds its columns, packet by packet, in a file or in memory."""

from pathlib import Path

import numpy as np
import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import ARP

from lab.errors import InputError
from lab.metric import Capture, capture, table
from tests.frames import ETHERNET
from tests.kinds import Save, Segment

pyarrow = pytest.importorskip("pyarrow")


@pytest.fixture
def mixed(save: Save, segment: Segment, handshake: list[bytes], monkeypatch: pytest.MonkeyPatch) -> Capture:
    """TCP, UDP over IPv6, and no IP at all, in blocks of two packets."""
    monkeypatch.setattr(capture, "_BLOCK", 2)
    other = [bytes(ETHERNET / IPv6(src="fd00::1", dst="fd00::2") / UDP(sport=53, dport=54)), bytes(ETHERNET / ARP())]
    return Capture(save([*handshake, *other, segment(True, 101, 501, size=700), bytes(ETHERNET / IP(src="10.0.0.9"))]))


def test_columns_are_the_captures(mixed: Capture) -> None:
    made = pyarrow.table(mixed)
    assert made["number"].to_pylist() == [1, 2, 3, 4, 5, 6, 7]
    assert made["time"].cast(pyarrow.int64()).to_pylist() == mixed.time_ns.tolist()
    assert made["source"].to_pylist() == ["10.0.0.1", "10.0.0.2", "10.0.0.1", "fd00::1", None, "10.0.0.1", "10.0.0.9"]
    for name in (*table._TYPES,):
        assert np.array_equal(made[name].to_numpy(), getattr(mixed, name)), name


def test_polars_and_pandas_read_the_same_rows(mixed: Capture) -> None:
    import polars

    rows = pyarrow.table(mixed).to_pylist()
    frame = polars.DataFrame(mixed)
    assert frame["seq"].to_list() == mixed.seq.tolist()
    assert [{**row, "time": None} for row in frame.to_dicts()] == [{**row, "time": None} for row in rows]
    assert pyarrow.table(mixed).to_pandas()["seq"].tolist() == mixed.seq.tolist()


@pytest.mark.parametrize("suffix", table.FORMATS)
def test_files_are_read_back(mixed: Capture, tmp_path: Path, suffix: str) -> None:
    from pyarrow import feather, parquet

    path = tmp_path / f"packets{suffix}"
    assert table.write(mixed, path) == 7
    read = (parquet if suffix == ".parquet" else feather).read_table(path)
    assert read.to_pylist() == pyarrow.table(mixed).to_pylist()


def test_other_suffixes_are_refused(mixed: Capture, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\.parquet or \.arrow"):
        table.write(mixed, tmp_path / "packets.csv")
    assert not list(tmp_path.iterdir())
