"""Define the commands about userlands: `lab userland ...`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lab.cli import output
from lab.cli.output import Json
from lab.errors import InputError

userlands = typer.Typer(help="Make the folders of programs that guests and kernel builds use.", no_args_is_help=True)


@userlands.command("build")
def build_userland(
    name: Annotated[str, typer.Argument(help="guest, or another one with a lock file, such as programs.")] = "guest",
    as_json: Json = False,
) -> None:
    """Make a userland from its locked packages, or find it in the cache: unless named, the one of guests."""
    from lab.userland import lock
    from lab.userland.ready import ready

    wanted = next((each for each in lock.NAMES if each == name), None)
    if wanted is None:
        raise InputError(f"there is no userland '{name}': it is one of {', '.join(lock.NAMES)}")
    found = ready(wanted)
    count = len(lock.locked(wanted).packages)
    output.answer({"id": found.id, "tree": str(found.tree), "packages": count}, lambda: _line(found.id, count), as_json)


@userlands.command("lock")
def lock_userlands(
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep the packages; note what the changed recipe makes of them.")
    ] = False,
    keyring: Annotated[
        Path | None, typer.Option(help="The keys of which one must have signed the index.", metavar="FILE")
    ] = None,
    as_json: Json = False,
) -> None:
    """Renew the lock files from the distribution's signed index.

    This makes new userlands, with ids of their own: trials in them are other trials.
    """
    from lab.building import shown
    from lab.userland import builder
    from lab.userland.lock import NAMES

    with shown() as progress:
        locks = {name: builder.renew(name, progress, keyring, packages=not keep) for name in NAMES}
    plain = {name: {"id": lock.id, "packages": len(lock.packages), "date": lock.date} for name, lock in locks.items()}
    said = [f"{name}: {_line(lock.id, len(lock.packages))}, as of {lock.date}" for name, lock in locks.items()]
    output.answer({"userlands": plain}, lambda: "\n".join(said), as_json)


def _line(ident: str, packages: int) -> str:
    return f"userland {ident}, of {packages} packages"
