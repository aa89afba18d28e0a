"""Translate the parameters of Mininet's TCIntf into one direction of a lab wire."""

from __future__ import annotations

import re

from lab.guest.fabric.shaper import ETHERNET_HEADER, GATE_MTU
from lab.guest.network import Direction, Queue, Setting, Shaper
from lab.units import Duration, Rate, Size

FRAMES = 1000  # in Mininet's queues by default: the veth's queue length, and netem's limit
IN_FLIGHT = 1_000_000  # frames: a wire has room for all frames on their way, and its queue alone is limited
FRAME = 1500 + ETHERNET_HEADER.bytes
TBF_BURST = 15_000  # bytes, as in TCIntf.bwCmds; tc adds the burst to the limit that it derives from a latency
_TIME = re.compile(r"\s*([0-9.]+(?:e[+-]?[0-9]+)?)(s|secs?|ms|msecs?|us|usecs?|ns|nsecs?)?\s*", re.IGNORECASE)
_NS = {"s": 10**9, "m": 10**6, "u": 10**3, "n": 1}


def time_of(text: object) -> Duration:
    """Return the duration of a text such as "5ms", as `tc` reads it: a number without a unit counts nanoseconds.

    Raises ValueError for any other text.
    """
    found = _TIME.fullmatch(str(text))
    if not found:
        raise ValueError(f"{text!r} is no time: write it like '5ms'")
    number, unit = found.groups()
    return Duration(round(float(number) * _NS[(unit or "ns")[0].lower()]))


def direction_of(
    bw: float | None = None,
    delay: str | None = None,
    jitter: str | None = None,
    loss: float | None = None,
    max_queue_size: float | None = None,
    use_tbf: bool = False,
    latency_ms: float | None = None,
    enable_ecn: bool = False,
    enable_red: bool = False,
) -> Direction:
    """Return the direction for the parameters of `TCIntf.config`, with Mininet's defaults.

    A queue needs a rate. It holds `max_queue_size` frames with the frame that is being sent, without those in flight.
    Raises ValueError for a value that no wire can have.
    """
    if loss is not None and not 0 <= loss <= 100:
        raise ValueError(f"a loss of {loss} % does not exist")
    if jitter is not None and delay is None:
        raise ValueError("a jitter needs a delay")
    if max_queue_size is not None and int(max_queue_size) < 1:
        raise ValueError("a queue holds at least one frame")
    rate = None
    queue = None
    if bw is not None:
        rate = Rate(round(bw * 1e6))
        if rate.bps < 8:
            raise ValueError(f"a rate of {bw} Mbit/s does not exist")
        if enable_ecn or enable_red:
            queue = _red(max_queue_size, enable_ecn)
        elif use_tbf and max_queue_size is None and not delay and not loss:
            seconds = TBF_BURST * 8 / rate.bps if latency_ms is None else latency_ms / 1e3
            queue = _queue("bfifo", limit=str(Size(round(rate.bps / 8 * seconds) + TBF_BURST)))
        else:
            queue = _queue("pfifo", limit=max(1, int(FRAMES if max_queue_size is None else max_queue_size) - 1))
    return Direction(
        rate=rate,
        delay=Duration(0) if delay is None else time_of(delay),
        jitter=Duration(0) if jitter is None else time_of(jitter),
        loss=(loss or 0) / 100,
        reorder=0.0,
        duplicate=0.0,
        mtu=GATE_MTU,  # the ends decide how long frames are
        limit=IN_FLIGHT,
        shaper=Shaper.PATH,
        queue=queue,
    )


def _red(max_queue_size: float | None, ecn: bool) -> Queue:
    """Return Mininet's RED. tc derives the weight from `burst 20`."""
    limit = Size(1_000_000 if max_queue_size is None else min(1_000_000, int(max_queue_size) * FRAME))
    sizes = {"limit": str(limit), "min": "30000 B", "max": "35000 B", "avpkt": "1500 B"}
    return _queue("red", **sizes, ewma=1, probability="100 %", ecn=ecn)


def _queue(kind: str, **parameters: Setting) -> Queue:
    return Queue(kind, tuple(sorted(parameters.items())))
