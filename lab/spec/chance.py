"""Find the cases whose figure depends on chance, for which a single seed proves little."""

from __future__ import annotations

from collections.abc import Iterator

from lab.guest.network import Direction, Network, Node
from lab.guest.task import Traffic
from lab.spec.drawn import Drawn

LEAST_SAMPLES = 10  # for a figure that depends on chance
_DICE = ("pie", "fq_pie", "red", "dualpi2")  # queues that drop or mark with a probability
_HASH_SEED, _HASH_POLICY = "net.ipv4.fib_multipath_hash_seed", "net.ipv4.fib_multipath_hash_policy"
_TAIL_DROP = ("pfifo", "bfifo", "tbf", "htb")
_TOO_FEW = (
    "samples={samples}, but {why} by chance, so each seed gives a different figure; use samples={least} or more, or "
    "few_samples='why fewer do'"
)
_PHASE = (
    "several flows that send all they can share a tail-drop queue, so that a hundredth of a millisecond decides "
    "which flow loses: with drawn=Drawn() each seed draws delays, rates and buffers within a few per cent"
)


def mistakes(
    network: Network, workload: Traffic, drawn: Drawn | None, samples: int, few: str, counts: bool
) -> Iterator[str]:
    """Yield the mistakes in a case's number of samples and in its draws.

    `few` is the experiment's reason for fewer samples, or ''.
    """
    why = _why(network, workload, drawn)
    if why and samples < LEAST_SAMPLES and not few:
        yield _TOO_FEW.format(samples=samples, why=why, least=LEAST_SAMPLES)
    if counts and not drawn and sum(part.workload.greedy for part in workload.parts()) > 1 and _drops_its_tail(network):
        yield _PHASE


def _why(network: Network, workload: Traffic, drawn: Drawn | None) -> str:
    if network.is_left_to_chance:
        changes = any(change.every_about for way in _ways(network) for change in way.changes)
        return "its links change" if changes else "its wires lose, delay, reorder or duplicate frames"
    if kinds := [way.queue.kind for way in _ways(network) if way.queue and way.queue.kind in _DICE]:
        return f"its queue, {kinds[0]}, drops or marks"
    if any(way.slot and way.slot.min != way.slot.max for way in _ways(network)):
        return "its wires release frames"
    if names := [node.name for node in network.nodes if _hashes(node)]:
        return f"{names[0]} chooses one of several next hops"
    if drawn:
        return "each seed draws its network"
    spreads = [getattr(part, "spread", None) for part in workload.parts()]
    return "its flows start" if len(spreads) > 1 and any(spreads) else ""


def _hashes(node: Node) -> bool:
    """Return whether the node chooses next hops by a hash that differs from seed to seed.

    The kernel draws the hash's key, unless a sysctl sets it: fib_multipath_hash_from_keys(), since Linux 6.11. With
    another policy than 0, the hash also covers ports, which the kernel draws.
    """
    fixed = node.sysctls.get(_HASH_SEED, "0") != "0" and node.sysctls.get(_HASH_POLICY, "0") == "0"
    return any(route.hops for route in node.routes) and not fixed


def _drops_its_tail(network: Network) -> bool:
    """Return whether the slowest link uses tail drop, because it has a FIFO or no separate queue."""
    slowest = min((way for way in _ways(network) if way.least_rate), key=_rate, default=None)
    return slowest is not None and (slowest.queue is None or slowest.queue.kind in _TAIL_DROP)


def _ways(network: Network) -> Iterator[Direction]:
    return (way for link in network.links for way in (link.forward, link.back))


def _rate(way: Direction) -> int:
    return way.least_rate.bps if way.least_rate else 0
