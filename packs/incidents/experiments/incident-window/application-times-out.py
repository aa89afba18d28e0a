"""A client that sets SO_RCVBUF to 64 KiB downloads 10 MB within its time-out of 30 s.

It did, in 22 s, until an upgrade to Linux 6.6 made it 40 s: the report in commit 697a6c8cec03.
"""

from pathlib import Path

from lab import (
    Arm,
    AtMost,
    Demonstrated,
    Duration,
    Experiment,
    Implied,
    Program,
    Reported,
    Value,
    Variant,
    Within,
    law,
    metric,
    model,
)
from lab.model.window import scaling_ratio

PATCH = "window-of-6.6.patch"
BYTES, BUFFER = 10_000_000, 2 * 65_536  # the kernel doubles what SO_RCVBUF asks for
SKB_TRUESIZE_OF_A_PAGE = 4096 + 256 + 320  # struct sk_buff and skb_shared_info, in cache lines


@law(formula="bytes / (share × 2 × SO_RCVBUF) × RTT", source="tcp_win_from_space(), window_clamp")
def download(scenario: model.Scenario) -> Value:
    """A window goes in each round trip: the share of the buffer at which the kernel bounds it.

    That is what tcp_adv_win_scale says before 6.6, and since 6.11 the measured one. In between it is the first guess,
    which stable releases changed, so nothing is predicted there; with the patch it is that of 1200 bytes in a page.
    """
    if Path(PATCH).stem in scenario.kernel.patches:
        share = (1200 << 8) // SKB_TRUESIZE_OF_A_PAGE
    elif (6, 6) <= scenario.kernel.version < (6, 11):
        raise model.ModelError("the first guess of the share is another one in each stable release of 6.6 to 6.10")
    else:
        share = scaling_ratio(scenario)
    return Value(BYTES / (BUFFER * share >> 8) * model.base_rtt(scenario).number, "s")


EXPERIMENT = Experiment(
    topology="far-server",
    workload=Program(
        client="receiver",
        server="sender",
        argv=("python3", "{files}/_download.py", "{server}", "{port}", "65536"),
        service=("python3", "{files}/_offer.py", "{port}", str(BYTES)),
        files=("_download.py", "_offer.py"),
        limit=Duration.of("120 s"),
    ),
    metric=metric.program_json("seconds", unit="s"),
    prediction=download,
    arms=(
        Arm("as-it-is", Implied("30 s", "our application has a 30-second timeout")),
        Arm(
            "as-of-6.6",
            Reported("40 s", "After the commit, it takes 40 seconds"),
            kernel=Variant(patches=(PATCH,)),
            tolerance=Within(0.2, because="the report rounds to seconds, and does not say how long its round trip is"),
            explains=Demonstrated(
                "the window is bounded by a first guess, a quarter of the buffer, which later measurements do not move"
            ),
            title="bound as in Linux 6.6",
        ),
    ),
    tolerance=AtMost(because="sooner is in time as well"),
    accuracy=Within(0.1, because="slow start takes some round trips until the window is full"),
)
