"""Write trials and verdicts for other programs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from lab.app.options import Folder

if TYPE_CHECKING:
    from lab.record.record import Record


def export_qlog(
    trial: str,
    out: Path | str | None = None,
    *,
    arm: str | None = None,
    point: str | None = None,
    seed: int | None = None,
    results: Folder = None,
) -> tuple[Path, int]:
    """Write a trial's TCP connections as qlog, and return the file and the number of events.

    `trial` is a claim, or the first eight or more digits of a trial's address. Default: the first arm, point and seed
    that have a record, and a file in the current directory that is named after the trial. Raises InputError if there is
    no such trial or it has no TCP connection, MachineError if the file cannot be written, and the errors of damaged
    records.
    """
    from lab.ext.export import qlog

    return _trial(trial, arm, point, seed, results, out, ".qlog", qlog.write)


def export_perfetto(
    trial: str,
    out: Path | str | None = None,
    *,
    arm: str | None = None,
    point: str | None = None,
    seed: int | None = None,
    results: Folder = None,
) -> tuple[Path, int]:
    """Write a trial as a trace for Perfetto, and return the file and the number of events.

    The arguments and errors are those of `export_qlog`.
    """
    from lab.ext.export import perfetto

    return _trial(trial, arm, point, seed, results, out, ".perfetto-trace", perfetto.write)


def export_tcp_info(
    trial: str,
    out: Path | str | None = None,
    *,
    arm: str | None = None,
    point: str | None = None,
    seed: int | None = None,
    results: Folder = None,
) -> tuple[Path, int]:
    """Write the samples of a trial's TCP connections, the fields of `ss -ti`, and return the file and its rows.

    The trial needs a `TcpInfo` probe. The suffix of `out` decides the format: .csv (default), .parquet or .arrow. The
    other arguments and errors are those of `export_qlog`. Also raises InputError for a different suffix, and
    MachineError if pyarrow is missing.
    """
    from lab.base.writing import whole
    from lab.ext.export import chosen, tcp_info

    record = chosen.trial(trial, arm, point, seed, results)
    target = Path(out or f"{chosen.name_of(record)}.tcp_info.csv")
    with whole(target) as path:
        return target, tcp_info.write(record, path)


def export_wireshark(folder: Path | str) -> Path:
    """Write the lab's profile into a Wireshark configuration folder, and return the profile's folder.

    Raises MachineError if the folder cannot be written.
    """
    from lab.ext.export import wireshark

    return wireshark.write(Path(folder))


def export_table(*claims: str | Path, out: Path | str, kernel: str | None = None, results: Folder = None) -> int:
    """Write a table of claims (default: all) with a row for each seed, and return the number of rows.

    The suffix of `out` decides the format: .csv, .parquet or .arrow. Raises InputError for a different suffix,
    MachineError if the file cannot be written or pyarrow is missing, and the errors of `load`.
    """
    from lab.app.stored import load
    from lab.base.writing import whole
    from lab.report import frame

    target = Path(out)
    frame.check(target)
    found = load(*claims, kernel=kernel, results=results)
    with whole(target) as path:
        return frame.write(found, path)


def export_kcidb(
    *claims: str | Path, out: Path | str, kernel: str | None = None, origin: str | None = None, results: Folder = None
) -> int:
    """Write the verdicts on claims (default: all) for KCIDB, and return the number of tests.

    `kernel` is one kernel (default: each kernel in the store). `origin` is the name of the CI system at KCIDB. Raises
    InputError if no claim has a record, or if `origin` contains characters other than a-z, 0-9 and _, MachineError if
    the file cannot be written, and the errors of `load`.
    """
    import msgspec

    from lab.app.stored import load
    from lab.base.writing import whole
    from lab.ext.export import chosen, kcidb

    names = [kernel] if kernel else chosen.kernels(results)
    found = [claim for name in names for claim in load(*claims, kernel=name, results=results)]
    report = kcidb.report(found, origin or kcidb.ORIGIN)
    with whole(Path(out)) as path:
        path.write_bytes(msgspec.json.format(msgspec.json.encode(report), indent=1) + b"\n")
    return len(report["tests"])


def _trial(
    trial: str,
    arm: str | None,
    point: str | None,
    seed: int | None,
    results: Folder,
    out: Path | str | None,
    suffix: str,
    write: Callable[[Record, BinaryIO], int],
) -> tuple[Path, int]:
    from lab.base.writing import whole
    from lab.ext.export import chosen

    record = chosen.trial(trial, arm, point, seed, results)
    target = Path(out or f"{chosen.name_of(record)}{suffix}")
    with whole(target) as path, path.open("wb") as file:
        return target, write(record, file)
