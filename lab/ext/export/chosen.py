"""Find the trial that a user names, by a claim and an arm or by its address."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

from lab.app.options import Folder, reading_from, store_of
from lab.app.stored import load
from lab.base import version
from lab.base.moving import entries
from lab.errors import InputError
from lab.record.record import Record, RecordError

_ADDRESS = re.compile("[0-9a-f]{8,64}")  # its first digits, at least eight


def trial(name: str, arm: str | None, point: str | None, seed: int | None, results: Folder) -> Record:
    """Return the record of a trial. Default: the first arm, point and seed that have a record.

    `name` is a claim, or the first eight or more digits of a trial's address. Raises InputError if there is no such
    trial, or if several addresses begin with these digits, and the errors of `lab.load`.
    """
    if _ADDRESS.fullmatch(name):
        if arm or point or seed is not None:
            raise InputError(f"{name} is the address of a trial; leave out --arm, --point and --seed")
        return _at(name, reading_from(results))
    claims = load(name, results=results)
    if len(claims) != 1:
        raise InputError(f"{name} is not a single claim; name one of {', '.join(each.id for each in claims)}")
    found = [
        record
        for record in claims.filter(arm=arm, point=point).records
        if arm in (None, record.trial.arm) and point in (None, record.trial.point) and seed in (None, record.trial.seed)
    ]
    if not found:
        wanted = (("arm", arm), ("point", point), ("seed", seed))
        said = ", ".join(f"{what} {value}" for what, value in wanted if value is not None)
        of = f"{name}, {said}" if said else name
        raise InputError(f"{store_of(results).root} has no trial of {of}; run `lab run {name}`")
    return found[0]


def _at(digits: str, store: Path) -> Record:
    found = [path for path in entries(store / digits[:2]) if path.name.startswith(digits)]
    if len(found) != 1:
        raise InputError(f"{'several addresses begin' if found else 'no address begins'} with {digits} in {store}")
    return Record(found[0])


def name_of(record: Record) -> str:
    """Return a name for a trial's file: claim, arm, point and seed, without characters that are special in a shell."""
    trial = record.trial
    words = (trial.claim.rpartition("/")[2], trial.arm, trial.point, f"seed-{trial.seed}")
    return ".".join(re.sub(r"[^A-Za-z0-9_-]+", "-", word).strip("-") for word in words if word)


def kernels(results: Folder) -> list[str]:
    """Return the names of the kernels in the store's records, the oldest first."""
    found: dict[str, tuple[int, ...]] = {}
    for record in store_of(results):
        with suppress(RecordError):  # the judge leaves it out, too
            kernel = record.trial.kernel
            name = version.series(kernel["version"]) if "base" in kernel else kernel["name"]
            found[name] = version.order(kernel["version"])
    return sorted(found, key=lambda name: (found[name], name))
