"""Run Mininet scripts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lab.app.options import SuiteOptions, spread

if TYPE_CHECKING:
    from lab.ext.mininet.comparing import WireComparison
    from lab.ext.mininet.running import MininetRun

LONGEST_SECONDS = 24 * 3600.0  # of the guest's clock


@spread(SuiteOptions, without=["jobs"])
def mininet(
    script: str | Path,
    *arguments: str,
    options: SuiteOptions,
    out: str | Path | None = None,
    exact: bool = False,
    heard: Callable[[bytes], None] = lambda _: None,
    capture: bool = True,
    page: str | Path | None = None,
) -> MininetRun:
    """Run an unmodified Mininet script in a guest in virtual time, and return its run. A stored run is not repeated.

    The script sees the modules that it imports from its folder, and the files there that it names. The files that it
    writes into its folder are copied to `out` (default: a folder with the script's name). With `exact`, the lab's wires
    take the place of Mininet's links. `heard` receives the script's output as it arrives. With `capture`, the record
    has the packets of the script's hosts. The file `page` gets a page about the run. Raises InputError, MachineError
    (no kernel, no userland), Interrupted, and the errors of running a trial.
    """
    from lab.ext.mininet import running
    from lab.machine.kernel import choose
    from lab.record.store import Store
    from lab.runner.plan import Settings

    settings = Settings(running.with_switch(choose("uml", options.kernel)), seed=options.seed)
    target = Path(out) if out else Path(Path(script).stem)
    given = (settings, Store(options.folder), target, LONGEST_SECONDS, options.limits, heard, capture, exact)
    found = running.run(Path(script), arguments, *given)
    if page is not None:
        from lab.ext.mininet import page as pages

        pages.write(found.record, Path(page))
    return found


def compare_wires(script: str | Path, *arguments: str, out: str | Path | None = None, **options: Any) -> WireComparison:
    """Run a Mininet script on Mininet's wires and on exact ones, and return both runs with their differences.

    The files that the script writes are copied to the folders mininet/ and exact/ in `out`. `options` are those of
    `mininet`, whose errors are raised.
    """
    from lab.ext.mininet.comparing import WireComparison

    target = Path(out) if out else Path(Path(script).stem)
    runs = {
        name: mininet(script, *arguments, out=target / name, exact=name == "exact", **options)
        for name in ("mininet", "exact")
    }
    return WireComparison(**runs)
