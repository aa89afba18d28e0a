"""Run claims and judge them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from lab.api.answers import as_claims
from lab.api.options import Folder, elsewhere, settings_of, writing_to
from lab.errors import InputError

if TYPE_CHECKING:
    from distributed import Client

    from lab.report.claims import Claims
    from lab.usecases.seeding import Seeds
    from lab.usecases.watching import Glimpse, Watched
    from lab.verdict.judged import JudgedClaim

__all__ = ["run", "run_kernels", "run_seeds", "watch"]


def run(
    *claims: str | Path,
    on: str = "uml",
    kernel: str | None = None,
    clock: str | None = None,
    fabric: str = "netlink",
    userland: str = "sealed",
    seed: int = 1,
    repeat: int = 1,
    jobs: int | None = None,
    budget: float = 900.0,
    stall: float = 60.0,
    results: Folder = None,
    bundle: Folder = None,
    store: str | None = None,
    cluster: str | Client | None = None,
    anyway: bool = False,
    build: bool = False,
    judged: Callable[[JudgedClaim], None] | None = None,
) -> Claims:
    """Run and judge claims: ids, articles or FILE.py. Without any, run all claims.

    What the store has is not run again. The options are those of `lab run`; `bundle` is its
    --from, a file whose kernel and userland are used. Records go to the store `results`; unless
    given, to LAB_RESULTS, else to results/ of the current directory. What the shared `store` (a URL or a folder) has is
    taken from there; what is left runs on the `cluster`, named as for `lab run --cluster`, or a Dask `Client` of your
    own, which stays open. With `build` missing kernels are built: the plain one first, variants beside the claims that
    do without; what runs in real time comes after that. `judged` is called with each claim of which a trial ran, as
    soon as the last one has ended. A trial that fails makes its claim `invalid`, one that cannot be run here `skipped`.
    Nothing begins where the disk or the memory is estimated not to do (NoRoom), but `anyway` does. Raises InputError,
    SpecError (with every mistake in the files), MachineError, and with `build` BuildFailed.
    """
    from lab.kernel import Budget
    from lab.spec import find
    from lab.usecases import running

    experiments = find.find(map(str, claims))
    if build:
        from lab.usecases import building

        if on != "uml" or bundle is not None:
            raise InputError("--build makes user-mode kernels: with --on uml, and without --from")
        kernel = building.ready(kernel, userland == "sealed").id
    settings = settings_of(kernel, on, clock, seed, repeat, fabric, userland, bundle)
    limits, others = Budget(wall=budget, stall=stall), elsewhere(store, cluster)
    with ExitStack() as stack:
        coming = None
        if build:
            from lab.runner import variants

            coming = stack.enter_context(variants.beside(experiments, settings.kernel))
        given = (experiments, settings, writing_to(results), jobs, limits, others)
        done = running.run(*given, judged=judged, anyway=anyway, coming=coming)
    return as_claims(done.judged, done.errors)


def run_kernels(
    kernels: Sequence[str],
    *claims: str | Path,
    on: str = "uml",
    clock: str | None = None,
    fabric: str = "netlink",
    userland: str = "sealed",
    seed: int = 1,
    repeat: int = 1,
    jobs: int | None = None,
    budget: float = 900.0,
    stall: float = 60.0,
    results: Folder = None,
    bundle: Folder = None,
    store: str | None = None,
    cluster: str | Client | None = None,
    anyway: bool = False,
) -> dict[str, Claims]:
    """Run and judge claims as `run` does, on each of these kernels; return what was found, by kernel.

    Trials in real time are mixed, so that drift affects all kernels equally. Raises what `run` raises, and InputError
    when a kernel is named twice.
    """
    from lab.kernel import Budget
    from lab.spec import find
    from lab.usecases import running

    experiments = find.find(map(str, claims))
    settings = [settings_of(each, on, clock, seed, repeat, fabric, userland, bundle) for each in kernels]
    if len({each.kernel.id for each in settings}) < len(kernels):
        raise InputError(f"--kernel {','.join(kernels)}: name each kernel once")
    asked = [(experiments, each) for each in settings]
    limits, others = Budget(wall=budget, stall=stall), elsewhere(store, cluster)
    done = running.run_beside(asked, writing_to(results), jobs, limits, elsewhere=others, anyway=anyway)
    return {
        kernel: as_claims(judgement.judged, judgement.errors) for kernel, judgement in zip(kernels, done, strict=True)
    }


def run_seeds(
    seeds: Sequence[int],
    *claims: str | Path,
    on: str = "uml",
    kernel: str | None = None,
    clock: str | None = None,
    fabric: str = "netlink",
    userland: str = "sealed",
    repeat: int = 1,
    jobs: int | None = None,
    budget: float = 900.0,
    stall: float = 60.0,
    results: Folder = None,
    bundle: Folder = None,
    store: str | None = None,
    cluster: str | Client | None = None,
    anyway: bool = False,
) -> Seeds:
    """Run and judge claims as `run` does, with each of these seeds, and say which verdicts depend on the seed.

    A claim of several samples takes as many seeds for each. Raises what `run` raises.
    """
    from lab.kernel import Budget
    from lab.spec import find
    from lab.usecases import seeding

    experiments = find.find(map(str, claims))
    settings = settings_of(kernel, on, clock, 1, repeat, fabric, userland, bundle)
    limits = Budget(wall=budget, stall=stall)
    others = elsewhere(store, cluster)
    return seeding.run(experiments, settings, seeds, writing_to(results), jobs, limits, others, anyway)


def watch(
    claim: str | Path,
    seen: Callable[[Glimpse], None],
    *,
    arm: str | None = None,
    kernel: str | None = None,
    seed: int = 1,
    results: Folder = None,
) -> Watched:
    """Perform the first trial of a claim's arm (None: the first one), and tell `seen` how it goes on.

    That is ten times in each second of the trial's own time. The record is the one that `run` makes, and goes to the
    same store; one that is there stays, and the bytes are compared. Raises InputError for an unknown claim or arm, or
    where no probe writes as it goes; MachineError; and what running a trial raises.
    """
    from lab.spec import find
    from lab.usecases import watching

    experiments = find.find([str(claim)])
    if len(experiments) != 1:
        raise InputError(f"{claim} is an article: watch one of {', '.join(each.id for each in experiments)}")
    settings = settings_of(kernel, "uml", None, seed, 1)
    return watching.watch(experiments[0], arm, settings, writing_to(results), seen)
