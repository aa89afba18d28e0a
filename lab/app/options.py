"""Declare the options that several functions and commands share: each option's name, type, default and help."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import Field, dataclass, fields
from functools import wraps
from inspect import Parameter, signature
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

from lab.errors import InputError
from lab.spec.errors import instead, no_file

if TYPE_CHECKING:
    from lab.guest.clock import Clock
    from lab.machine.kernel import Budget
    from lab.record.record import Record
    from lab.record.store import Store
    from lab.runner.plan import Settings

Folder = Path | str | None
USUAL = "results"  # the default store, in the project
_R = TypeVar("_R")


@dataclass(frozen=True)
class OptionText:
    """Describes an option to users.

    The command line shows the option, and Python has a keyword argument of the same name. `shape` is the type of its
    value on the command line, if Python accepts more types. `completion` names a function of `lab.cli.completion`.
    """

    help: str
    metavar: str | None = None
    flag: str | None = None  # several are separated with commas; default: the name, with two dashes
    least: int | None = None
    shape: Any = None
    completion: str | None = None


@dataclass(frozen=True)
class StoreOptions:
    """Holds the options of commands that run guests and store records.

    Raises InputError if `results` is not a folder.
    """

    kernel: Annotated[
        str | None, OptionText("A kernel name, version or id. Default: the newest kernel.", completion="kernels")
    ] = None
    seed: Annotated[int, OptionText("The seed for all random numbers.", "N", least=0)] = 1
    jobs: Annotated[
        int | None,
        OptionText("The number of virtual-time trials that run in parallel. Default: one per core.", "N", least=1),
    ] = None
    results: Annotated[
        Folder,
        OptionText("The store: a folder of records. Default: results/ in the project.", "DIR", shape=Path | None),
    ] = None

    def __post_init__(self) -> None:
        writing_to(self.results)

    def given(self, without: Collection[str] = ()) -> dict[str, Any]:
        """Return the options by name, as keyword arguments."""
        return {name: each for name, each in vars(self).items() if name not in without}

    @property
    def folder(self) -> Path:
        """Return the store that a run writes to (see `writing_to`)."""
        return writing_to(self.results)


@dataclass(frozen=True)
class TrialLimits:
    """Holds the limits of each trial."""

    budget: Annotated[float, OptionText("Stop a trial after this much wall-clock time.", "SECONDS", least=0)] = 900.0
    stall: Annotated[
        float,
        OptionText("Stop a trial that uses this much CPU time without progress in virtual time.", "SECONDS", least=0),
    ] = 60.0

    @property
    def limits(self) -> Budget:
        """Return the limits of each trial."""
        from lab.machine.kernel import Budget

        return Budget(wall=self.budget, stall=self.stall)


@dataclass(frozen=True)
class SuiteOptions(TrialLimits, StoreOptions):
    """Holds the options of a test suite run."""


@dataclass(frozen=True)
class PlanOptions(StoreOptions):
    """Holds the options that decide which trials a run has, and which of these trials are missing in its store."""

    on: Annotated[
        str,
        OptionText(
            "The kernel under test: uml (built here), host (the running kernel), vm (a distribution kernel under "
            "QEMU), or auto (one that works here)."
        ),
    ] = "uml"
    clock: Annotated[str | None, OptionText("The clock: virtual or real. Default: depends on the kernel.")] = None
    fabric: Annotated[str, OptionText("The tool that builds the network: netlink (the lab's own code) or mininet.")] = (
        "netlink"
    )
    userland: Annotated[
        str,
        OptionText(
            "The programs that guests run: sealed (locked, the same everywhere) or host (those of this machine)."
        ),
    ] = "sealed"
    repeat: Annotated[
        int, OptionText("Run each trial N times. In virtual time, all repeats give the same bytes.", "N", least=1)
    ] = 1
    bundle: Annotated[
        Folder,
        OptionText(
            "Use the kernel and userland of this bundle, and build nothing.", "FILE", flag="--from", shape=Path | None
        ),
    ] = None
    trust: Annotated[
        bool, OptionText("Compile sources and kernel patches even if this machine cannot confine the compiler.")
    ] = False

    def settings(self) -> Settings:
        """Return the kernel, clock and programs of a run. With a bundle, they come from the bundle.

        Raises InputError for a seed below 0, fewer than 1 repeat, and numbers that are not whole.
        """
        from lab.app import userlands
        from lab.machine.kernel import choose
        from lab.runner.plan import Settings

        numbers: tuple[tuple[str, object, int], ...] = (("seed", self.seed, 0), ("repeat", self.repeat, 1))
        for what, number, least in numbers:
            if not isinstance(number, int) or number < least:
                raise InputError(f"{what} {number!r} is too small or not a whole number; use {least} or more")
        asked = None if self.clock is None else named_clock(self.clock)
        if self.bundle is not None:
            from lab.app.extension import hook

            if self.on != "uml":
                raise InputError(f"kernels on '{self.on}' are in no bundle: a bundle's kernels are user-mode Linux")
            found = hook("machines", str(self.bundle))(Path(self.bundle))
            kernel, programs = found.kernel(self.kernel), found.userland(self.userland)
        else:
            kernel = choose(self.on, self.kernel, asked)
            programs = userlands.chosen(self.userland, kernel.on)
        clock = asked or kernel.clocks[0]
        return Settings(kernel, clock, self.seed, self.repeat, self.fabric, programs, self.trust)


@dataclass(frozen=True)
class RunOptions(TrialLimits, PlanOptions):
    """Holds the options of a run."""

    store: Annotated[
        str | None, OptionText("Before the run, copy missing records from this shared store.", "URL | DIR")
    ] = None
    cluster: Annotated[
        Any,  # the command line's text, or the caller's own Dask client
        OptionText(
            "Run the trials with Dask: local:N, tcp://HOST:PORT, slurm:N, or a scheduler file.",
            "WHERE",
            shape=str | None,
        ),
    ] = None
    anyway: Annotated[bool, OptionText("Start even if disk space or memory seems insufficient.")] = False


def python(each: Field[Any], hint: Any) -> Parameter:
    """Return an option as a keyword argument of a Python function."""
    plain = get_args(hint)[0] if get_origin(hint) is Annotated else hint
    return Parameter(each.name, Parameter.KEYWORD_ONLY, default=each.default, annotation=plain)


def spread(
    kind: type[Any], without: Collection[str] = (), shown: Callable[[Field[Any], Any], Parameter] = python
) -> Callable[[Callable[..., _R]], Callable[..., _R]]:
    """Return a decorator for a function with a parameter `options`, which is of the dataclass `kind`.

    The decorated function takes the fields of `kind` instead, as keyword arguments, and its signature shows them in the
    form that `shown` returns. The fields named in `without` are left out of the signature, and keep their defaults.
    """
    hints = get_type_hints(kind, include_extras=True)
    shared = [shown(each, hints[each.name]) for each in fields(kind) if each.name not in without]

    def decorate(function: Callable[..., _R]) -> Callable[..., _R]:
        own = signature(function)
        lists = [shared if name == "options" else [parameter] for name, parameter in own.parameters.items()]

        @wraps(function)
        def spreading(*args: Any, **kwargs: Any) -> _R:
            given = {each.name: kwargs.pop(each.name) for each in shared if each.name in kwargs}
            return function(*args, options=kind(**given), **kwargs)

        spreading.__signature__ = own.replace(parameters=list(chain(*lists)))  # type: ignore[attr-defined] # see inspect
        return spreading

    return decorate


def json_schema(kind: type[Any]) -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of the options in the dataclass `kind`, by their names in Python."""
    from pydantic import ConfigDict, create_model
    from pydantic import Field as Key

    hints = get_type_hints(kind, include_extras=True)
    keys: dict[str, Any] = {}
    for each in fields(kind):
        plain, option = get_args(hints[each.name])
        shape = option.shape or plain
        about = Key(each.default, description=option.help, ge=option.least)
        keys[each.name] = (shape | None if each.default is None else shape, about)
    model = create_model(kind.__name__, __config__=ConfigDict(extra="forbid"), **keys)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **model.model_json_schema()}


def named_clock(text: str) -> Clock:
    """Return the clock named on the command line. Raises InputError if there is no such clock."""
    from lab.guest.clock import CLOCKS, clock_of

    if text not in CLOCKS:
        raise InputError(f"--clock {text} is unknown; use {' or '.join(CLOCKS)}")
    return clock_of(text)


def writing_to(results: Folder) -> Path:
    """Return the store that a run writes to. The store need not exist yet.

    Raises InputError if the path is a file, or is below a file.
    """
    path = _named(results) or usual()
    there = next(each for each in (path, *path.absolute().parents) if each.exists())
    if not there.is_dir():
        raise InputError(f"{path} cannot be a store of records, because {there} is a file; name a folder")
    return path


def reading_from(results: Folder) -> Path:
    """Return the store to read.

    The default store need not exist yet. Raises InputError if a named store does not exist.
    """
    given, default = _named(results), usual()
    if given is None:
        return default
    return given if given.resolve() == default.resolve() else existing(given)


def existing(store: Path) -> Path:
    """Return the store, a folder. Raises InputError if there is no such folder."""
    if store.is_file():
        raise InputError(f"{store} is a file, not a store of records; give a folder that `lab run` wrote")
    if not store.is_dir():
        raise InputError(f"{no_file(store)}; give a folder that `lab run` wrote, such as {usual()}")
    return store


def usual() -> Path:
    """Return the default store: results/ in the project."""
    from lab.spec import shipped

    project = shipped.project()
    return Path(USUAL) if project == Path.cwd() else project / USUAL


def _named(results: Folder) -> Path | None:
    """Return the store that the user named in the command or in the environment."""
    from lab.report.notebooks import RESULTS

    given = results or os.environ.get(RESULTS)
    return Path(given) if given else None


def store_of(results: Folder) -> Store:
    """Return the store to read."""
    from lab.record.store import Store

    return Store(reading_from(results))


def on_kernel(records: Iterable[Record], kernel: str | None) -> tuple[Record, ...]:
    """Return these records. Raises InputError if no record is from the named `kernel` or one of its variants."""
    from lab.base import version
    from lab.record.record import RecordError

    found, known = tuple(records), dict[str, None]()
    for record in found if kernel is not None else ():
        with suppress(RecordError):  # the judge leaves it out, too
            ran = record.trial.kernel
            names = [ran.get(key, "") for key in ("name", "version", "id", "base")]
            if kernel in (*names, version.series(ran["version"])):
                return found
            known[names[0]] = None
    if kernel is not None:
        raise InputError(f"no record is on a kernel '{kernel}'{instead(kernel, sorted(known))}")
    return found
