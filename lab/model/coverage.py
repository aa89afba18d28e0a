"""Check whether the simulations cover a path: it must have no random effects, and must not change frames."""

from __future__ import annotations

from lab.guest.network import Shaper
from lab.model.mss import narrows
from lab.model.scenario import ModelError, Scenario


def check(scenario: Scenario) -> None:
    """Raise ModelError if no simulation covers the path."""
    if scenario.flows:
        raise ModelError("several flows share the path: the simulations cover a single flow")
    hops, ends = (*scenario.forward, *scenario.reverse), (scenario.sender.interface, scenario.receiver.interface)
    if any(hop.loss for hop in hops):
        raise ModelError("the path loses frames: the model covers a transfer without loss")
    if any(hop.is_left_to_chance for hop in hops):
        raise ModelError("the path delays, reorders or duplicates frames by chance: the model covers none of that")
    if any(hop.queue for hop in hops):
        raise ModelError("the path has a queue discipline: the model covers a wire's FIFO")
    if any(hop.changes for hop in hops):
        raise ModelError("the path changes: the model covers a constant path")
    if any(narrows(way) for way in (scenario, scenario.reversed())):
        raise ModelError("a later link has a smaller MTU than the sender's: the model covers no MTU discovery")
    if any(hop.shaper is Shaper.NIC for hop in hops):
        raise ModelError("a network card pushes back on its sender (shaper: nic): the model covers rates on the wire")
    if any(end.offloads.tso or end.offloads.gso for end in ends):
        raise ModelError("super-packets are on the wire: the model covers frames")
    if any(end.offloads.gro for end in ends):
        raise ModelError("GRO merges frames before TCP receives them: the model covers single frames")
