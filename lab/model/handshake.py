"""Compute when each end of a handshake may continue, and the send time of the last packet that reached the sender."""

from __future__ import annotations

from typing import NamedTuple

from lab.model.line import base_rtt, one_way
from lab.model.packet import ACK, SYN
from lab.model.scenario import Scenario


class Handshake(NamedTuple):
    """Holds times in ns since the SYN."""

    sender: int  # when the sending socket is established, and may write
    receiver: int  # when the receiving socket is established
    heard: int  # when the receiver sent the last packet that the sender received


def handshake(scenario: Scenario) -> Handshake:
    """Return the times of a handshake over an idle path, for either end as the client."""
    rtt = base_rtt(scenario, SYN).number
    if scenario.client == "sender":
        return _times(rtt, rtt + one_way(scenario.forward, ACK), one_way(scenario.forward, SYN))
    return _times(rtt + one_way(scenario.reverse, ACK), rtt, rtt)


def _times(*seconds: float) -> Handshake:
    return Handshake(*(round(each * 1e9) for each in seconds))
