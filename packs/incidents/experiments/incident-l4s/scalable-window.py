"""A scalable sender keeps a link full whose queue marks each packet that waited for more than a seventh of the BDP.

The report: two constants of TCP Prague had a wrong scale, so that it "always activates" its classic mode, "even on L4S
AQMs". DCTCP stands for Prague here, because mainline has no Prague. Both reduce their window by the marked share.
"""

from math import sqrt
from pathlib import Path

from lab import (
    Arm,
    Bulk,
    Demonstrated,
    Duration,
    Experiment,
    Flow,
    Flows,
    Implied,
    Size,
    TcpInfo,
    Value,
    Variant,
    Within,
    law,
    metric,
    model,
)

PATCH = "four-bits-too-many.patch"
FRAME, PAYLOAD = 1538, 1448


def flow(control: str) -> Flows:
    """Return one flow with this congestion control."""
    bulk = Bulk(congestion=control, duration=Duration.of("15 s"), block=Size.of("64 KiB"))
    return Flows((Flow("only", bulk),))


@law(
    formula="payload / frame × (1 - (P - bW)² / (2 P W (1 - b))), where the window W falls to bW",
    source="DCTCP, SIGCOMM 2010, section 3.3; RFC 5681, 3.1",
)
def sawtooth(scenario: model.Scenario) -> Value:
    """A window of W packets reaches the threshold. P of them are on the path.

    DCTCP's share of marked packets is the square root of 2 / W, and it reduces its window by half of this share. In
    classic mode, and with Reno, the window is halved. Each sender reduces twice: its first packets after a reduction
    still meet the long queue, and their marks come back when the reduction is over.
    """
    assert scenario.rate is not None
    rate = scenario.rate.bps / (8 * FRAME)
    path = rate * model.base_rtt(scenario).number
    (queue,) = (hop.queue for hop in scenario.forward if hop.queue)
    top = path + rate * Duration.of(str(dict(queue.parameters)["ce_threshold"])).seconds
    (flow,) = scenario.flows
    is_scalable = flow.scenario.writer.congestion == "dctcp" and Path(PATCH).stem not in scenario.kernel.patches
    left = (1 - sqrt(2 / top) / 2 if is_scalable else 0.5) ** 2
    missing = max(0.0, path - left * top) ** 2 / (2 * path * top * (1 - left))
    return Value(PAYLOAD / FRAME * (1 - missing), "1")


EXPERIMENT = Experiment(
    topology="marking-router",
    workload=flow("dctcp"),
    probes=(TcpInfo(node="receiver", interval=Duration.of("200 ms")),),
    metric=metric.utilisation("path", 4, 14),
    prediction=sawtooth,
    arms=(
        Arm("dctcp", Implied(0.941, "the link is full, and 1448 of 1538 bytes are payload")),
        Arm(
            "four-bits-too-many",
            Implied(0.664, "a sawtooth from 46 packets to a quarter of them over a path of 40"),
            kernel=Variant(patches=(PATCH,)),
            tolerance=Within(0.1, because="the sawtooth counts neither bursts nor delayed acknowledgements"),
            explains=Demonstrated(
                "a share that is sixteen times too large is one after few marks, so each mark halves"
            ),
            title="a wrong scale",
        ),
        Arm(
            "reno",
            Implied(0.664, "a sawtooth from 46 packets to a quarter of them over a path of 40"),
            workload=flow("reno"),
            tolerance=Within(0.1, because="the sawtooth counts neither bursts nor delayed acknowledgements"),
            explains=Demonstrated("this is what a classic sender carries behind the same queue"),
            title="a classic sender",
        ),
    ),
    tolerance=Within(0.02, because="'full' is but for a fiftieth"),
    accuracy=Within(0.1, because="the law counts neither bursts nor delayed acknowledgements"),
)
