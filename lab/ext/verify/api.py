"""Rerun recorded trials on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lab.app.extension import hook
from lab.app.options import Folder, reading_from
from lab.errors import InputError

if TYPE_CHECKING:
    from lab.ext.verify.verification import Verification


def verify(
    results: Folder = None,
    jobs: int | None = None,
    budget: float = 900.0,
    sample: float = 1.0,
    trust: bool = False,
    only: str | None = None,
) -> Verification:
    """Rerun the recorded trials of a store or a bundle file on this machine, and return the bytes that differ.

    `only` names a claim, an article, a run such as mininet/NAME, or the first digits of a trial's address; default: all
    records. `sample` is the share of these trials to run, chosen at random on each call. Each of their records is
    rehashed, regardless of the sample. With `trust`, C sources in records are compiled even if this machine cannot
    confine the compiler. Raises InputError if there is no such record, MachineError if the machine cannot run any
    trial, and BundleError for a file that is not a bundle or is damaged.
    """
    from lab.ext.verify import verification
    from lab.machine.kernel import Budget
    from lab.spec import find

    limits = Budget(wall=budget)
    if results and Path(results).is_file():
        with hook("records", str(results))(Path(results)) as (found, records):
            return verification.verify(records, jobs, limits, sample, found.kernels, trust, only)
    if results and not Path(results).exists() and find.is_known(str(results)):
        raise InputError(
            f"{results} is a claim, and `lab verify` takes a store or a bundle file; `lab verify --only {results}` "
            "reruns the claim's trials"
        )
    return verification.verify(reading_from(results), jobs, limits, sample, trust=trust, only=only)
