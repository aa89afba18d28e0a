"""Import topologies from files of other tools."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab.ext.importing.importing import ImportedTopology


def import_topology(
    *files: str | Path,
    out: str | Path | None = None,
    variables: Mapping[str, str] | None = None,
    topo: str = "",
    time_unit: str = "s",
    rate_unit: str = "Mbit/s",
) -> ImportedTopology:
    """Return the topology that files of other tools describe together, and write it to `out`, if given.

    The files are a containerlab file, a Mininet script, a shell script of ip and tc commands, or one or two traces.
    Shell scripts may also follow a network, and change it. `variables` are those of shell scripts; 1 is the first
    argument, also of a Mininet script. `topo` selects a Topo of a Mininet file, as for `mn --topo`.
    `time_unit` and `rate_unit` are those of a trace of two columns. Everything that the topology cannot hold is in
    `untaken`, with its line. Raises InputError, SpecError and MachineError.
    """
    from lab.ext.importing.importing import ImportOptions, read

    target = Path(out) if out is not None else None
    options = ImportOptions(variables or {}, topo, time_unit, rate_unit)
    found = read([Path(each) for each in files], target, options)
    if target is not None:
        found.write(target)
    return found
