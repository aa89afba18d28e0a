"""Run claims and judge them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from lab.app.answers import as_claims
from lab.app.options import Folder, elsewhere, settings_of, writing_to
from lab.errors import InputError

if TYPE_CHECKING:
    from distributed import Client

    from lab.app.seeding import Seeds
    from lab.report.claims import Claims
    from lab.verdict.judged import JudgedClaim


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
    trust: bool = False,
    build: bool = False,
    judged: Callable[[JudgedClaim], None] | None = None,
) -> Claims:
    """Run claims (ids, articles or FILE.py; default: all), and return them, judged.

    Finished trials are reused from the store. The options are those of `lab run`; `bundle` is its --from, a file with
    the kernel and userland to use. Records go to the store `results` (default: LAB_RESULTS, else results/ of the
    current directory). The shared `store` (a URL or a folder) provides the records that it has, and the `cluster` runs
    the rest. The cluster is a value of `lab run --cluster`, or your own Dask `Client`, which stays open. `build` builds
    missing kernels: first the plain kernel, then variants while other claims run. Real-time trials come after that.
    `judged` is called with each claim that had a trial to run, as soon as its last trial has ended. A failed trial
    makes its claim `invalid`, and a trial that cannot run here makes it `skipped`. Nothing starts if the estimate of
    disk or memory is too high (NoRoom), unless `anyway` is set. With `trust`, C sources and kernel patches are compiled
    even if this machine cannot confine the compiler. Raises InputError, SpecError (with every mistake in the files),
    MachineError, and with `build` BuildFailed.
    """
    from lab.app import running
    from lab.machine.kernel import Budget
    from lab.spec import find

    experiments = find.find(map(str, claims))
    if build:
        from lab.app import building

        if on != "uml" or bundle is not None:
            raise InputError("--build makes user-mode kernels: use it with --on uml and without --from")
        kernel = building.ready(kernel, userland == "sealed").id
    settings = settings_of(kernel, on, clock, seed, repeat, fabric, userland, bundle, trust)
    limits, others = Budget(wall=budget, stall=stall), elsewhere(store, cluster)
    with ExitStack() as stack:
        coming = None
        if build:
            from lab.runner import variants

            coming = stack.enter_context(variants.beside(experiments, settings.kernel, trust))
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
    trust: bool = False,
) -> dict[str, Claims]:
    """Run claims like `run`, on each of these kernels, and return kernel -> claims, judged.

    Real-time trials are mixed, so that drift affects all kernels equally. Raises the errors of `run`, and InputError if
    a kernel is named twice.
    """
    from lab.app import running
    from lab.machine.kernel import Budget
    from lab.spec import find

    experiments = find.find(map(str, claims))
    settings = [settings_of(each, on, clock, seed, repeat, fabric, userland, bundle, trust) for each in kernels]
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
    trust: bool = False,
) -> Seeds:
    """Run claims like `run`, with each of these seeds, and return them with the verdicts that depend on the seed.

    A claim of several samples uses that many seeds for each. Raises the errors of `run`.
    """
    from lab.app import seeding
    from lab.machine.kernel import Budget
    from lab.spec import find

    experiments = find.find(map(str, claims))
    settings = settings_of(kernel, on, clock, 1, repeat, fabric, userland, bundle, trust)
    limits = Budget(wall=budget, stall=stall)
    others = elsewhere(store, cluster)
    return seeding.run(experiments, settings, seeds, writing_to(results), jobs, limits, others, anyway)
