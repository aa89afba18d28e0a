"""The gain of a raised MSS grows with the round-trip time, and the smaller the MSS was without it.

The summary of the measurements. It says by how much nowhere; what the times say of that is in transfer-0ms, -5ms and
-10ms.
"""

from dataclasses import replace

from lab import (
    Above,
    Arm,
    Bulk,
    Claimed,
    Consistent,
    Experiment,
    Figure,
    Implied,
    MssProgram,
    Point,
    Size,
    Sweep,
    Within,
    metric,
    model,
)

SIZE = Size.of("20 MiB")  # a tenth of the article's: but for slow start, the ratio is the same
RAISED = (MssProgram(node="receiver", mss=Size(1460)),)
TIMES = "the article's time with the small MSS, over that with the raised one"
GAINS: dict[Figure, Claimed] = {
    "0 ms": Implied(27 / 18, TIMES),
    "5 ms": Implied(40 / 19, TIMES),
    "10 ms": Implied(79 / 23, TIMES),
}
WHY = Consistent(
    "with 127 segments a round trip, of whatever size, the gain grows in the shape of the article's times",
    fitted=("a receive buffer for each segment size",),
)


def more_than(mtu: int, part: str) -> Implied:
    """The gain that headers alone give over that MTU, without a delay."""
    small, large = (mtu + 38) / (mtu - 52), 1538 / 1448  # bytes on the wire for a byte of payload
    return Implied(small / large, f"the gain at an MTU of {mtu} without a delay: what the headers take", part)


LONGER, SMALLER = "grows with the round-trip time", "grows with a smaller MSS"


def narrow(mtu: int) -> dict[str, dict[str, dict[str, Size]]]:
    """The way back carries packets of `mtu` bytes at most."""
    return {"path": {"back": {"mtu": Size(mtu)}}}


def window(name: str, buffer: int, relative_to: str = "raised-127-segments") -> Arm:
    """The receiver has this buffer, and reads at once."""
    rmem = {"net.ipv4.tcp_rmem": f"4096 {buffer} {buffer}"}
    at_once = Bulk(size=SIZE, watermark=Size(1))
    rounded = Within(0.1, because="a ratio of two averages in whole seconds")
    return Arm(name, explains=WHY, relative_to=relative_to, sysctls=rmem, workload=at_once, tolerance=rounded)


EXPERIMENT = Experiment(
    topology="asymmetric-mtu",
    workload=Bulk(size=SIZE),
    metric=metric.transfer_time(),
    prediction=model.transfer_time,
    arms=(
        Arm("raised", middleboxes=RAISED),
        Arm("mtu-1000", relative_to="raised", links=narrow(1000)),
        Arm(
            "mtu-500",
            {"0 ms": more_than(1000, SMALLER), "5 ms": more_than(500, LONGER), "10 ms": more_than(500, LONGER)},
            relative_to="raised",
        ),
        Arm("mtu-300", {"0 ms": more_than(500, SMALLER)}, relative_to="raised", links=narrow(300)),
        replace(window("raised-127-segments", 292882, relative_to=""), middleboxes=RAISED),
        replace(window("mtu-1000-127-segments", 228408), links=narrow(1000)),
        replace(window("mtu-500-127-segments", 115072), claimed=GAINS),
        replace(window("mtu-300-127-segments", 64072), links=narrow(300)),
    ),
    sweep=Sweep(
        "delay each way",
        tuple(Point(delay, links={"path": {"delay": delay}}) for delay in ("0 ms", "5 ms", "10 ms", "20 ms")),
    ),
    tolerance=Above(0.001, because="it says that it grows, and not how much; in virtual time a thousandth is no noise"),
)
