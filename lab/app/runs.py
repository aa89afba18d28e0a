"""Run claims and judge them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from lab.app.answers import as_claims
from lab.app.options import RunOptions, spread
from lab.errors import InputError

if TYPE_CHECKING:
    from lab.app.seeding import Seeds
    from lab.report.claims import Claims
    from lab.verdict.judged import JudgedClaim


@spread(RunOptions)
def run(
    *claims: str | Path,
    options: RunOptions,
    build: bool = False,
    judged: Callable[[JudgedClaim], None] | None = None,
) -> Claims:
    """Run and judge claims (ids, articles or FILE.py; default: all), and return them.

    A trial whose record is already in the store does not run again. The options correspond to the options of `lab run`;
    `bundle` is the bundle file of --from, which holds the kernel and userland to use. Records go to the store `results`
    (default: LAB_RESULTS, else results/ in the project). The shared `store` (a URL or a folder) provides
    existing records, and the `cluster` runs the remaining trials. `cluster` takes the values of `lab run --cluster`, or
    your own Dask `Client`, which stays open. `build` builds missing kernels: first the plain kernel, then variants
    while other claims run. Real-time trials run after all builds. `judged` is called with each claim that had a trial
    to run, as soon as its last trial has ended. A failed trial makes its claim `invalid`, and a trial that cannot run
    here makes its claim `skipped`. Nothing starts if there seems to be too little disk space or memory (NoRoom), unless
    `anyway` is set. With `trust`, C sources and kernel patches are compiled even if this machine cannot confine the
    compiler. Raises InputError, SpecError (with every mistake in the files), MachineError, and with `build`
    BuildFailed.
    """
    from lab.app import running
    from lab.spec import find

    experiments = find.find(map(str, claims))
    if build:
        from lab.app import building

        if options.on != "uml" or options.bundle is not None:
            raise InputError("build makes user-mode kernels; use it with uml and without a bundle")
        options = replace(options, kernel=building.ready(options.kernel, options.userland == "sealed").id)
    settings = options.settings()
    with ExitStack() as stack:
        coming = None
        if build:
            from lab.runner import variants

            coming = stack.enter_context(variants.beside(experiments, settings.kernel, options.trust))
        done = running.run(experiments, settings, options, judged=judged, coming=coming)
    return as_claims(done.judged, done.errors)


@spread(RunOptions, without=["kernel"])
def run_kernels(kernels: Sequence[str], *claims: str | Path, options: RunOptions) -> dict[str, Claims]:
    """Run claims like `run`, on each of these kernels, and return kernel -> claims, judged.

    Real-time trials are interleaved, so that drift affects all kernels equally. Raises the errors of `run`, and
    InputError if a kernel is named twice.
    """
    from lab.app import running
    from lab.spec import find

    experiments = find.find(map(str, claims))
    settings = [replace(options, kernel=each).settings() for each in kernels]
    if len({each.kernel.id for each in settings}) < len(kernels):
        raise InputError(f"--kernel {','.join(kernels)} names a kernel twice; name each kernel once")
    done = running.run_beside([(experiments, each) for each in settings], options)
    return {
        kernel: as_claims(judgement.judged, judgement.errors) for kernel, judgement in zip(kernels, done, strict=True)
    }


@spread(RunOptions, without=["seed"])
def run_seeds(seeds: Sequence[int], *claims: str | Path, options: RunOptions) -> Seeds:
    """Run claims like `run`, with each of these seeds, and return them with the verdicts that depend on the seed.

    A claim with several samples uses that many seeds for each judgement. Raises the errors of `run`.
    """
    from lab.app import seeding
    from lab.spec import find

    return seeding.run(find.find(map(str, claims)), options.settings(), seeds, options)
