"""Count the instructions that kernels need for claims."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lab.app.options import SuiteOptions, spread
from lab.errors import InputError

if TYPE_CHECKING:
    from lab.ext.cost.costs import KernelCost
    from lab.machine.kernel.vm.stock import StockKernel

INTEREST = 0.005  # the same as for `lab regress`


@spread(SuiteOptions, without=["kernel"])
def cost(
    kernels: Sequence[str | None],
    *claims: str | Path,
    options: SuiteOptions,
    seeds: str = "3",
    repeat: int = 1,
    function: str | None = None,
    interest: float = INTEREST,
) -> KernelCost:
    """Count the instructions of claims' trials on distribution kernels under QEMU, and return their cost.

    Each trial runs with these `seeds` ("3": three seeds from `seed` on; "1-5": seeds 1 to 5), `repeat` times. All
    repeats of a trial should be equal to the last instruction. Trials run without the claim's probes. The first kernel
    (None: the newest) is the base of the comparison; a figure that changes by at most `interest` counts as the same.
    The figure is the kernel's instructions per message, segment or system call; with `function`, it is that function's
    own instructions per call. A counted trial in the store does not run again. Raises InputError (before the trials if
    a kernel does not have the `function`), SpecError, MachineError (no QEMU, no kernel), and Interrupted.
    """
    from lab.app.seeding import parse
    from lab.base.building import shown
    from lab.ext.cost import costs, measuring, plugin, symbols
    from lab.ext.cost.kernel import CountedKernel
    from lab.machine.kernel.vm import stock
    from lab.spec import find

    experiments = find.find(map(str, claims))
    numbers = parse(seeds, options.seed)
    if repeat < 1:
        raise InputError(f"--repeat {repeat} is too small; use 1 or more")
    found = [stock.find(name) for name in kernels]
    if len({kernel.id for kernel in found}) < len(found):
        raise InputError(f"--kernel {','.join(map(str, kernels))} names a kernel twice; name each kernel once")
    plugin.check()
    with shown() as progress:
        counted = [CountedKernel(_name(each, found), each, symbols.table(each, progress)) for each in found]
    for each in counted:
        if function is not None:
            symbols.require(function, each.symbols, each.name)
    cases = measuring.measure(experiments, counted, numbers, repeat, options)
    answer = costs.KernelCost(
        {each.name: each.describe() for each in counted}, costs.figures(cases), function, interest
    )
    answer.require_function()
    return answer


def _name(kernel: StockKernel, beside: Sequence[StockKernel]) -> str:
    """Return the kernel's name, with its id if a kernel beside it has the same name."""
    alone = sum(each.name == kernel.name for each in beside) == 1
    return kernel.name if alone else f"{kernel.name} {kernel.id[:6]}"
