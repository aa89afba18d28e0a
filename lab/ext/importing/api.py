"""Import topologies from other tools' files."""

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
    """Return the topology that other tools' files describe together, and write it to `out`, if given.

    The files are a containerlab file, a Mininet script, a shell script of ip and tc commands, or one or two traces.
    Shell scripts after a containerlab file or a Mininet script change its network. `variables` sets variables of shell
    scripts. The variable 1 is the first argument of a shell script or a Mininet script. `topo` selects a Topo in a
    Mininet file, as `mn --topo` does. `time_unit` and `rate_unit` are the units of a trace with two columns. `untaken`
    lists everything that the topology cannot express, with its line. Raises InputError, SpecError and MachineError.
    """
    from lab.ext.importing.importing import ImportOptions, read

    target = Path(out) if out is not None else None
    options = ImportOptions(variables or {}, topo, time_unit, rate_unit)
    found = read([Path(each) for each in files], target, options)
    if target is not None:
        found.write(target)
    return found
