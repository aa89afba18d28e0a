"""Write a trial's samples of TCP connections, the fields of `ss -ti`, as a table."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lab.errors import InputError
from lab.guest import outputs
from lab.metric import table as arrow
from lab.metric.arrays import np
from lab.metric.tcp_info import FIELDS, Samples, read
from lab.record.record import Record
from lab.report import frame

_OF_CONNECTION = ("node", "connection", "time_ns", "local_port", "remote_port")
_PIECE = 10_000  # the number of rows that are converted together


def write(record: Record, path: Path) -> int:
    """Write a row for each sample of a connection, and return the number of rows.

    A node's connections come in the order in which they appeared, and each connection's rows in order of time.
    `connection` counts a node's connections from 0. Each field of the kernel's struct tcp_info is a column, in the
    kernel's units. A field is empty if the kernel did not have it. The suffix decides the format: .csv, .parquet or
    .arrow. Raises InputError for a different suffix and if the trial has no samples, MachineError if pyarrow is missing
    (not for CSV), TcpInfoError if the samples are damaged, and OSError if the write fails.
    """
    frame.check(path)
    if not _files(record):
        raise InputError(
            f"trial {record.address[:8]} has no samples of connections; add a TcpInfo probe, and run the claim again"
        )
    if path.suffix != frame.CSV:
        return arrow.save(_reader(record), path)
    rows = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*_OF_CONNECTION, *FIELDS])
        for columns in _pieces(record):
            rows += len(columns["time_ns"])
            empty = [""] * len(columns["time_ns"])
            kept = (columns.get(name, empty) for name in (*_OF_CONNECTION, *FIELDS))
            writer.writerows(
                zip(*(each.tolist() if isinstance(each, np.ndarray) else each for each in kept), strict=True)
            )
    return rows


def _reader(record: Record) -> Any:
    """Return a pyarrow.RecordBatchReader of the rows."""
    module = arrow.pyarrow()
    kinds = {name: f"uint{8 * np.dtype(kind).itemsize}" for name, (_, kind) in FIELDS.items()}
    own = zip(_OF_CONNECTION, ("string", "uint32", "int64", "uint16", "uint16"), strict=True)
    kinds = {**dict(own), **kinds}
    schema = module.schema([(name, getattr(module, kind)()) for name, kind in kinds.items()])
    batches = (
        module.record_batch(
            [
                module.array(columns[name]).cast(kind)
                if name in columns
                else module.nulls(len(columns["time_ns"]), kind)
                for name, kind in zip(schema.names, schema.types, strict=True)
            ],
            schema=schema,
        )
        for columns in _pieces(record)
    )
    return module.RecordBatchReader.from_batches(schema, batches)


def _pieces(record: Record) -> Iterator[Mapping[str, Any]]:
    """Yield the columns of some rows, without fields that the kernel did not have."""
    for node, name in _files(record).items():
        for number, samples in enumerate(read(record.path(name))):
            for start in range(0, len(samples), _PIECE):
                yield _columns(node, number, samples, slice(start, start + _PIECE))


def _files(record: Record) -> Mapping[str, str]:
    """Return the file with the samples of each sampled node."""
    files = {node["name"]: outputs.tcp_info(node["name"]) for node in record.network["nodes"]}
    return {node: name for node, name in files.items() if name in record.outputs}


def _columns(node: str, number: int, samples: Samples, rows: slice) -> Mapping[str, Any]:
    times = samples.time_ns[rows]
    ends = {"connection": number, "local_port": samples.local_port, "remote_port": samples.remote_port}
    return {
        "node": [node] * len(times),
        "time_ns": times,
        **{name: np.full(len(times), each) for name, each in ends.items()},
        **{name: samples[name][rows] for name in FIELDS if name in samples},
    }
