"""Define the commands for userlands: `lab userland ...`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lab.cli import output
from lab.cli.output import Json
from lab.errors import InputError

userlands = typer.Typer(
    help="Build userlands, the program folders that guests and kernel builds use.", no_args_is_help=True
)


@userlands.command("build")
def build_userland(
    name: Annotated[
        str, typer.Argument(help="The userland to build: guest, or another with a lock file, such as programs.")
    ] = "guest",
    as_json: Json = False,
) -> None:
    """Build a userland from its locked packages, or reuse it from the cache."""
    from lab.machine.userland import lock
    from lab.machine.userland.ready import ready

    wanted = next((each for each in lock.NAMES if each == name), None)
    if wanted is None:
        raise InputError(f"unknown userland '{name}'; use one of {', '.join(lock.NAMES)}")
    found = ready(wanted)
    count = len(lock.locked(wanted).packages)
    output.answer({"id": found.id, "tree": str(found.tree), "packages": count}, lambda: _line(found.id, count), as_json)


@userlands.command("lock")
def lock_userlands(
    keep: Annotated[
        bool,
        typer.Option(
            "--keep", help="Keep the locked packages, and record the userland that the changed recipe builds."
        ),
    ] = False,
    keyring: Annotated[
        Path | None,
        typer.Option(
            help="A keyring. One of its keys must have signed the package index.", metavar="FILE", exists=True
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Update the lock files from the distribution's signed package index.

    The updated userlands have new ids, so trials run again.
    """
    from lab.base.building import shown
    from lab.machine.userland import builder
    from lab.machine.userland.lock import NAMES

    with shown() as progress:
        locks = {name: builder.renew(name, progress, keyring, packages=not keep) for name in NAMES}
    plain = {name: {"id": lock.id, "packages": len(lock.packages), "date": lock.date} for name, lock in locks.items()}
    said = [f"{name}: {_line(lock.id, len(lock.packages))}, as of {lock.date}" for name, lock in locks.items()]
    output.answer({"userlands": plain}, lambda: "\n".join(said), as_json)


def _line(ident: str, packages: int) -> str:
    return f"userland {ident}, of {packages} packages"
