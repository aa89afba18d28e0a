"""Make costs that no trial gave."""

from __future__ import annotations

from collections.abc import Mapping

from lab.ext.cost.costs import CaseFigures, KernelCost
from lab.ext.cost.counts import FunctionCount, TrialCounts
from lab.ext.cost.measuring import CaseCost

FUNCTIONS = {
    "tcp_ack": FunctionCount(60_000, 100),
    "tcp_v4_rcv": FunctionCount(40_000, 200),
    "__x64_sys_sendto": FunctionCount(10_000, 50),
    "veth:veth_xmit": FunctionCount(5_000, 200),
    "kmem_cache_alloc_noprof": FunctionCount(85_000, 400),
}


def counts(seed: int, repeat: int = 0, more: int = 0, **changed: int) -> TrialCounts:
    """Return the counts of a trial: FUNCTIONS, with `changed` instructions by name, and `more` in programs."""
    functions = {
        name: FunctionCount(changed.get(name, each.instructions) + seed * 10, each.calls)
        for name, each in FUNCTIONS.items()
    }
    return TrialCounts(seed, repeat, f"{seed:064x}", 300_000 + more, functions)


def cost(
    of: Mapping[str, tuple[TrialCounts, ...]],
    missing: Mapping[str, str] = {},
    function: str | None = None,
    interest: float = 0.005,
    arm: str = "nodelay",
    skipped: str = "",
) -> KernelCost:
    """Return the cost of one case of ten messages with these counts, by kernel."""
    names = [*of, *missing]
    kernels = {name: {"name": name, "version": f"{name}.1-1", "id": name * 4} for name in names}
    case = CaseCost("tcp-nodelay/cork", (arm,), 10, of, missing, skipped)
    return KernelCost(kernels, (CaseFigures(case),), function, interest)
