"""With a round trip of 50 ms, the window of a buffer of 28 MB is fully open half a second after the first data.

The mail has a trace with a line for each round trip, and a buffer of 67 MB. From the first line, this buffer needs 9
round trips to its full size. It needed 19 before the repair. The first line comes a round trip after the first data: it
counts the first ten segments and two of the next. A guest has no memory for such a buffer. With 28 MB, the trace's
figures are 7 and 16 round trips.
"""

from pathlib import Path

from lab import (
    Arm,
    Bulk,
    Capture,
    Demonstrated,
    Experiment,
    Implied,
    Size,
    Value,
    Variant,
    Within,
    law,
    metric,
    model,
)
from lab.model.window import scaling_ratio

PATCH = "growth-of-6.16.patch"
START, FULL, FIRST = 131_072, 28_000_000, 10 * 4096  # the buffer in bytes, and the first window of the sender


@law(
    formula="RTT × n: the data of the n-th round trip, times 6 (in 6.16: times 2), is the full window",
    source="the kernel's tcp_rcvbuf_grow(); RFC 5681, 3.1",
)
def opens(scenario: model.Scenario) -> Value:
    """The sender doubles its data in each round trip, unless the window of two round trips ago holds it back.

    A window is six times the data of a round trip if this data is twice that of the one before, so the window never
    holds the sender back. In Linux 6.16, a window is twice the data, so both grow by the square root of two.
    """
    share = scaling_ratio(scenario) / 256
    factor = 2 if Path(PATCH).stem in scenario.kernel.patches else 6
    before, data, rounds = 0.0, float(FIRST), 1
    while factor * data < FULL * share:
        before, data, rounds = data, min(2 * data, max(START * share, factor * before)), rounds + 1
    return Value(rounds * model.base_rtt(scenario).number, "s")


EXPERIMENT = Experiment(
    topology="far-and-fast",
    workload=Bulk(size=Size.of("100 MB"), block=Size.of("64 KiB")),
    probes=(Capture(node="receiver"),),
    metric=metric.window_settled("receiver"),
    prediction=opens,
    arms=(
        Arm(
            "as-it-is",
            Implied("0.406 s", "from the first data at 935.584 until the buffer passes 28 MB at 935.990"),
        ),
        Arm(
            "as-of-6.16",
            Implied("0.861 s", "from the first data at 825.667 until the buffer passes 28 MB at 826.528"),
            kernel=Variant(patches=(PATCH,)),
            explains=Demonstrated(
                "the data of a round trip is known a round trip late, so twice this data leaves no room for growth"
            ),
            title="growth as in Linux 6.16",
        ),
    ),
    tolerance=Within(0.12, because="a window grows once in a round trip, which is a ninth of the time"),
    accuracy=Within(0.12, because="the law counts whole round trips"),
)
