"""Predict how long Multipath TCP takes over several paths at once: the sum of their rates, less what stays idle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from lab.model.line import ETHERNET
from lab.model.scenario import End, Scenario
from lab.prediction import Prediction, law
from lab.units import Duration, Rate, Size, Value

__all__ = ["DSS", "Path", "goodput_of_paths", "transfer_time_by_paths"]

# A data sequence signal (RFC 8684, 3.3.1) with an acknowledgement and a mapping of 64 bits has 26 bytes; the option is
# padded to whole words (TCPOLEN_MPTCP_DSS_*).
DSS = 28
_PACKET, _HEADERS = 1500, 20 + 20 + 12 + DSS  # IPv4, TCP, timestamps
_INITIAL_WINDOW = 10  # segments: RFC 6928


@dataclass(frozen=True, slots=True)
class Path:
    """Describes a path whose one link with a rate carries packets of 1500 bytes."""

    rate: Rate  # of whole frames, as a topology has it
    delay: Duration  # one way

    @property
    def frame(self) -> Fraction:
        """Return the seconds that a full frame takes."""
        return self.rate.time_for(Size(_PACKET + ETHERNET))

    @property
    def idle(self) -> float:
        """Return the seconds for which it carries nothing: until the first byte is there, and in slow start.

        Its window starts with ten segments and doubles each round trip. Until it covers one, the link idles for the
        rest of each.
        """
        trip, burst = 2 * self.delay.seconds + float(self.frame), _INITIAL_WINDOW * float(self.frame)
        idle = self.delay.seconds
        while burst < trip:
            idle, burst = idle + trip - burst, 2 * burst
        return idle


def goodput_of_paths(paths: Sequence[Path]) -> Value:
    """Return what all paths carry together when each is full: the sum of their rates, less the headers."""
    share = Fraction(_PACKET - _HEADERS, _PACKET + ETHERNET)
    return Value(float(share * sum(path.rate.bps for path in paths)), "bit/s")


def transfer_time_by_paths(paths: Sequence[Path], size: Size, client: End, wait: Duration = Duration(0)) -> Prediction:
    """Return the law for a transfer of `size` over these paths, by the first of which the connection is opened.

    Time counts from when the receiver's end is connected. The sender waits before it sends more than a few bytes.
    """

    @law(
        formula="Σ rate × (time − wait − delay − idle in slow start) × payload / frame = size",
        source="RFC 8684, 3.3.1; RFC 6928; RFC 5681, 3.1; IEEE 802.3",
    )
    def transfer_time(_: Scenario) -> Value:
        """All paths are full but at their begin, and no path waits for another: what scheduling costs is not in it."""
        total = sum(path.rate.bps for path in paths)
        missed = sum(path.rate.bps * path.idle for path in paths) / total
        lead = paths[0].delay.seconds * (1 if client == "receiver" else -1)  # who accepts is connected later
        return Value(wait.seconds + lead + missed + 8 * size.bytes / goodput_of_paths(paths).number, "s")

    return transfer_time
