"""Run Mininet scripts, and Mininet's own command."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lab.app.options import SuiteOptions, spread
from lab.ext.mininet.options import MininetOptions, MnOptions

if TYPE_CHECKING:
    from lab.ext.mininet.comparing import WireComparison
    from lab.ext.mininet.packing import PackedScript
    from lab.ext.mininet.running import MininetRun

LONGEST_SECONDS = 24 * 3600.0  # of the guest's clock


@spread(MininetOptions, without=["jobs"])
def mininet(
    script: str | Path,
    *arguments: str,
    options: MininetOptions,
    out: str | Path | None = None,
    heard: Callable[[bytes], None] = lambda _: None,
    warned: Callable[[str], None] = lambda _: None,
) -> MininetRun:
    """Run an unmodified Mininet script in a guest in virtual time, and return its run. A stored run is not repeated.

    From its own folder, the script sees the modules that it imports and the files that it names. The files that it
    writes into its folder are copied to `out` (default: a folder with the script's name). With `exact`, the lab's wires
    take the place of Mininet's links. `heard` receives the script's output as it arrives. Before the script runs,
    `warned` receives a line for each call that cannot work in a guest. With `no_capture`, the record lacks the packets
    of the script's hosts. The file `page` gets a page about the run. Raises InputError, MachineError (no kernel, no
    userland), Interrupted, and the errors of running a trial.
    """
    target = target_of(script, out)
    packed = packed_script(script, target, options, warned)
    return _recorded(packed, arguments, target, options, heard)


@spread(MnOptions, without=["jobs"])
def mn(
    *,
    options: MnOptions,
    commands: str | None = None,
    out: str | Path = "mn",
    heard: Callable[[bytes], None] = lambda _: None,
) -> MininetRun:
    """Run Mininet's own command, `mn`, in a guest in virtual time, and return its run. A stored run is not repeated.

    The options are those of `mn`. `commands` are Mininet commands, one per line, which run after the tests. The files
    that they write are copied to the folder `out`. `exact`, `no_capture`, `page` and `heard` are those of `mininet`.
    Raises the errors of `mininet`, and InputError for options that cannot work in a guest.
    """
    from lab.ext.mininet.mn import command_of

    packed, arguments = command_of(options, commands)
    return _recorded(packed, arguments, Path(out), options, heard)


def target_of(script: str | Path, out: str | Path | None) -> Path:
    """Return the folder for the files that a script writes. Raises InputError if it is the script's own folder."""
    from lab.errors import InputError

    target = Path(out) if out else Path(Path(script).stem)
    if target.resolve() == Path(script).resolve().parent:
        raise InputError(f"--out {out}: this is the script's own folder, where outputs would be the next run's inputs")
    return target


def packed_script(
    script: str | Path, target: Path, options: SuiteOptions, warned: Callable[[str], None]
) -> PackedScript:
    """Return a script with the files that it uses. Call `warned` for each call that cannot work in a guest."""
    from lab.ext.mininet.limits import foreseen, has_module
    from lab.ext.mininet.packing import pack
    from lab.machine.kernel import choose
    from lab.machine.userland.ready import ready

    packed = pack(Path(script), [options.folder, target])
    choose("uml", options.kernel)  # an unknown kernel is refused before the userland is built
    for line in foreseen(packed, Path(script).parent, has_module(ready("mininet").tree)):
        warned(line)
    return packed


def _recorded(
    packed: PackedScript,
    arguments: tuple[str, ...],
    target: Path,
    options: MininetOptions,
    heard: Callable[[bytes], None],
) -> MininetRun:
    from lab.ext.mininet import running
    from lab.machine.kernel import choose
    from lab.record.store import Store
    from lab.runner.plan import Settings

    settings = Settings(running.with_switch(choose("uml", options.kernel)), seed=options.seed)
    given = (settings, Store(options.folder), target, LONGEST_SECONDS, options.limits, heard)
    found = running.run(packed, arguments, *given, not options.no_capture, options.exact, options.size)
    if options.page is not None:
        from lab.ext.mininet import page as pages

        pages.write(found.record, Path(options.page))
    return found


def compare_wires(script: str | Path, *arguments: str, out: str | Path | None = None, **options: Any) -> WireComparison:
    """Run a Mininet script on Mininet's wires and on exact ones, and return both runs with their differences.

    The files that the script writes are copied to the folders mininet/ and exact/ in `out`. `options` are those of
    `mininet`, whose errors are raised.
    """
    from lab.ext.mininet.comparing import WireComparison

    target = Path(out) if out else Path(Path(script).stem)
    exact = options | {"exact": True, "warned": lambda _: None}
    return WireComparison(
        mininet=mininet(script, *arguments, out=target / "mininet", **options),
        exact=mininet(script, *arguments, out=target / "exact", **exact),
    )
