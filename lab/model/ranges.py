"""Check whether a law covers a path.

Each check raises ModelError with the reason if the law does not cover the path.
"""

from __future__ import annotations

from lab.guest.network import Direction
from lab.model.line import base_rtt, frame
from lab.model.scenario import ModelError, Scenario

LEAST_WINDOW = 4  # segments: with fewer there are no three duplicate ACKs, and timeouts take over (RFC 5681, 3.2)
BETA = {"reno": 0.5, "cubic": 0.7}  # the share of the window after a cut: RFC 5681, 3.1; RFC 9438, 4.6
_LEFT = {**BETA, "None": BETA["cubic"], "bbr": 1.0, "dctcp": 1.0}


def bulks(scenario: Scenario) -> list[Scenario]:
    """Return the scenarios of the greedy flows, or the scenario itself if it has a single flow."""
    every = [flow.scenario for flow in scenario.flows] or [scenario]
    return [each for each in every if each.writer.write_size and not (each.writer.interval or each.writer.messages)]


def longest_rtt(scenario: Scenario) -> float:
    """Return the longest round trip of the bulk flows on an idle path, in seconds."""
    return max((base_rtt(each).number for each in bulks(scenario)), default=base_rtt(scenario).number)


def left_by_a_cut(scenario: Scenario) -> float:
    """Return the share of the window that this flow's congestion control keeps after a cut."""
    return _LEFT.get(str(scenario.writer.congestion), _LEFT["reno"])


def is_fifo(hop: Direction) -> bool:
    """Return whether the hop's queue is a FIFO. A plain wire is a FIFO, too."""
    return hop.queue is None or hop.queue.kind in ("pfifo", "bfifo")


def check_fifo(hop: Direction) -> None:
    """Raise ModelError if the bottleneck's queue is not a FIFO."""
    if hop.queue and not is_fifo(hop):
        raise ModelError(f"the bottleneck's queue is {hop.queue.kind}: the law is for a full FIFO")


def check_greedy_and_lossless(scenario: Scenario) -> None:
    """Raise ModelError if a flow is not greedy, or if the path loses frames by chance."""
    if len(bulks(scenario)) < len(scenario.flows):
        raise ModelError("the law is for several flows that always have more to send")
    if scenario.loss:
        raise ModelError("the path loses frames by chance: the law is for losses at the bottleneck's queue")


def check_windows(scenario: Scenario, wait: float) -> None:
    """Raise ModelError if each bulk flow's share of the path plus a queue of `wait` seconds is only a few segments.

    Such flows cannot slow down. The queue's controller saturates, and timeouts decide each flow's goodput.
    """
    flows, rate = bulks(scenario), scenario.rate
    if rate is None or not flows:
        return
    window = rate.bps * (longest_rtt(scenario) + wait) / (8 * frame(flows[0]).bytes * len(flows))
    if window < LEAST_WINDOW:
        raise ModelError(f"each of {len(flows)} flows has a window of {window:.2g} segments: the law is for more")


def check_no_empty_queue(scenario: Scenario, hop: Direction, wait: float) -> None:
    """Raise ModelError if a queue of `wait` seconds runs empty after the flow with the deepest cut slows down.

    Behind a FIFO, all flows may lose packets at once. A queue discipline that drops one frame slows down only one flow.
    """
    flows = bulks(scenario)
    left = min((left_by_a_cut(each) for each in flows), default=1.0)
    if not is_fifo(hop):
        left = (len(flows) - 1 + left) / len(flows)
    rtt = longest_rtt(scenario)
    if left * (rtt + wait) < rtt:
        raise ModelError(f"the queue of {1000 * wait:.3g} ms runs empty after a cut: the link is not full then")
