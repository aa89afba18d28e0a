"""Convert a capture's packets to an Arrow table, batch by batch, for polars, pandas and other readers of Arrow.

This module needs pyarrow: `pip install 'replab[tables]'`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from lab.errors import InputError, MachineError
from lab.metric.arrays import np
from lab.metric.packets import Packets

if TYPE_CHECKING:
    from lab.metric.census import Census

FORMATS = (".parquet", ".arrow")  # the second is Arrow's own file, also called Feather
_TYPES = {  # the capture's own columns, with its names; a packet without the field has 0
    "frame": "uint32",
    "captured": "uint32",
    "version": "uint8",
    "protocol": "int16",
    "source_port": "uint16",
    "destination_port": "uint16",
    "seq": "uint32",
    "ack": "uint32",
    "flags": "uint8",
    "window": "uint16",
    "header_length": "uint8",
    "payload": "uint32",
    "ts_value": "uint32",
    "ts_echo": "uint32",
}
_ENDS = ("source", "destination")  # addresses; null without IP


class TableSource(Protocol):
    """A source of packets, such as a capture."""

    @property
    def census(self) -> Census:
        """Return the flows."""

    def blocks(self) -> Iterator[Packets]:
        """Yield all packets, in pieces."""


def reader(capture: TableSource) -> Any:
    """Return a pyarrow.RecordBatchReader of the packets, numbered from 1 as in Wireshark.

    Raises MachineError if pyarrow is missing.
    """
    arrow = pyarrow()
    census = capture.census
    ends = [arrow.array([getattr(flow, end) for flow in census.flows], arrow.string()) for end in _ENDS]
    schema = arrow.schema(
        [
            ("number", arrow.int64()),
            ("time", arrow.timestamp("ns", "UTC")),
            *((end, arrow.dictionary(arrow.int32(), arrow.string())) for end in _ENDS),
            *((name, getattr(arrow, kind)()) for name, kind in _TYPES.items()),
        ]
    )
    return arrow.RecordBatchReader.from_batches(schema, _batches(arrow, capture, census, schema, ends))


def write(capture: TableSource, path: Path) -> int:
    """Write the packets as Parquet or Arrow, depending on the file's suffix. Return the number of packets.

    Raises InputError for any other suffix, MachineError if pyarrow is missing, and OSError if the write fails.
    """
    if path.suffix not in FORMATS:
        raise InputError(f"{path} has another format; write a file that ends in {' or '.join(FORMATS)}")
    return save(reader(capture), path)


def save(batches: Any, path: Path) -> int:
    """Write a pyarrow.RecordBatchReader as Parquet or Arrow, depending on the file's suffix. Return the number of rows.

    Raises OSError if the write fails.
    """
    written = 0
    with _writer(path, batches.schema) as file:
        for batch in batches:
            file.write_batch(batch)
            written += len(batch)
    return written


def _batches(arrow: Any, capture: TableSource, census: Census, schema: Any, ends: Sequence[Any]) -> Iterator[Any]:
    before = 0
    for packets in capture.blocks():
        yield arrow.record_batch(list(_columns(arrow, packets, census, before, ends)), schema=schema)
        before += len(packets)


def _columns(arrow: Any, packets: Packets, census: Census, before: int, ends: Sequence[Any]) -> Iterator[Any]:
    yield arrow.array(np.arange(before + 1, before + len(packets) + 1))
    yield arrow.array(packets.time_ns).cast(arrow.timestamp("ns", "UTC"))
    flow = census.numbers(packets)
    numbers = arrow.array(flow, mask=flow < 0)
    yield from (arrow.DictionaryArray.from_arrays(numbers, names) for names in ends)
    yield from (arrow.array(getattr(packets, name).astype(kind)) for name, kind in _TYPES.items())


def _writer(path: Path, schema: Any) -> Any:
    if path.suffix == ".arrow":
        return pyarrow().ipc.new_file(path, schema)
    from pyarrow import parquet

    return parquet.ParquetWriter(path, schema)


def pyarrow() -> Any:
    """Return the module pyarrow. Raises MachineError if it is missing."""
    try:
        import pyarrow
    except ImportError:
        raise MachineError("tables need pyarrow; run `pip install 'replab[tables]'`") from None
    return pyarrow
