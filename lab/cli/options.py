"""Define the arguments and options that commands in several modules share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import Field
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

import typer

from lab.app.options import OptionText, RunOptions, spread
from lab.cli import completion


def with_options(
    kind: type[Any], without: Collection[str] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that gives a command the options of the dataclass `kind`, for its parameter `options`."""

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        function.__annotations__ = get_type_hints(function, include_extras=True)  # Typer does not evaluate ours
        return spread(kind, without, _parameter)(function)

    return decorate


def _parameter(each: Field[Any], hint: Any) -> Parameter:
    plain, option = get_args(hint)
    shape: Any = option.shape or plain
    annotation = Annotated[shape, _shown(each.name, option)]
    return Parameter(each.name, Parameter.KEYWORD_ONLY, default=each.default, annotation=annotation)


def _shown(name: str, option: OptionText) -> Any:
    return typer.Option(
        *(option.flag or f"--{name}").split(","),
        help=option.help,
        metavar=option.metavar,
        min=option.least,
        autocompletion=getattr(completion, option.completion) if option.completion else None,
    )


def _of_a_run(name: str) -> Any:
    """Return one option of `lab run`, for a command that shares only this option."""
    return _shown(name, get_args(get_type_hints(RunOptions, include_extras=True)[name])[1])


Results = Annotated[Path | None, _of_a_run("results")]
KernelName = Annotated[str | None, _of_a_run("kernel")]
On = Annotated[str, _of_a_run("on")]
UserlandName = Annotated[str, _of_a_run("userland")]
Seed = Annotated[int, _of_a_run("seed")]
Jobs = Annotated[int | None, _of_a_run("jobs")]
Seconds = Annotated[float, _of_a_run("budget")]
Trust = Annotated[bool, _of_a_run("trust")]
Claims = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="CLAIM | ARTICLE | FILE.py | PACK",
        help="Claims, articles, experiment files, packs or pack folders. Default: all claims in the project.",
        autocompletion=completion.claims,
    ),
]
TopologyName = Annotated[
    str,
    typer.Argument(
        metavar="TOPOLOGY", help="A topology name (`lab list`) or file.", autocompletion=completion.topologies
    ),
]
KernelNames = Annotated[
    str | None,
    typer.Option(
        "--kernel",
        help="A kernel name, version or id, or several, such as 6.1,7.2, to judge claims on each. Default: the newest.",
        metavar="KERNEL[,KERNEL...]",
        autocompletion=completion.kernels,
    ),
]
Begun = Annotated[
    float | None,
    typer.Option(help="At the end, print the time since this Unix time.", metavar="SECONDS", hidden=True),
]
SeedNumbers = Annotated[
    str | None,
    typer.Option(
        "--seeds",
        help="Show which verdicts depend on the seed. 10: ten seeds, starting at --seed. 1-5: seeds 1 to 5.",
        metavar="N | FIRST-LAST",
    ),
]
Reports = Annotated[
    list[str] | None,
    typer.Option(
        help="Write a report for CI systems: tap=FILE, ktap=FILE, junit=FILE or nipa=FILE. Repeatable.",
        metavar="FORMAT=FILE",
    ),
]


def named_seeds(seeds: str | None, first: int) -> Sequence[int] | None:
    """Return the seeds that the option names, or None without the option. Raises InputError."""
    if seeds is None:
        return None
    from lab.app.seeding import parse

    return parse(seeds, first)
