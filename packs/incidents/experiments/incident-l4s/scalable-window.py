"""A scalable sender keeps a link full whose queue marks each packet that waited for more than a seventh of the BDP.

The report: two constants of TCP Prague had a wrong scale, so that it "falls back to classic behavior even in a
controlled environment with a L4S AQM". DCTCP stands for Prague here, because mainline has no Prague. Both reduce their
window by the marked share. DCTCP has no classic mode to fall back to, so that the fault shows as deeper reductions.
"""

from pathlib import Path

from lab import (
    Arm,
    Bulk,
    Consistent,
    Duration,
    Experiment,
    Flow,
    Flows,
    Implied,
    ModelMiss,
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
SECOND_REDUCTION = "each sender reduces twice, a part of the law that was added after Reno's arm had run"
AS_LAW = Within(0.03, because="the sawtooth counts whole packets")


def flow(control: str) -> Flows:
    """Return one flow with this congestion control."""
    bulk = Bulk(congestion=control, duration=Duration.of("15 s"), block=Size.of("64 KiB"))
    return Flows((Flow("only", bulk),))


@law(
    formula="payload / frame × (1 - (P - bW)² / (2 P W (1 - b))), where the window W falls to bW",
    source="the kernel's dctcp_update_alpha(); DCTCP, SIGCOMM 2010, section 3; RFC 5681, 3.1",
)
def sawtooth(scenario: model.Scenario) -> Value:
    """A window of W packets reaches the threshold. P of them are on the path.

    Each sender reduces twice: its first packets after a reduction still meet the long queue, and their marks come back
    when the reduction is over. Reno halves its window each time. DCTCP reduces it by half of its marked share. When the
    window reaches the threshold in the course of a round trip, half of its packets are marked. The share grows by a
    sixteenth of this half, with the patch by all of it, and loses a sixteenth in each round trip.
    """
    assert scenario.rate is not None
    rate = scenario.rate.bps / (8 * FRAME)
    path = rate * model.base_rtt(scenario).number
    (queue,) = (hop.queue for hop in scenario.forward if hop.queue)
    top = path + rate * Duration.of(str(dict(queue.parameters)["ce_threshold"])).seconds
    (only,) = scenario.flows
    left = 0.25
    if only.scenario.writer.congestion == "dctcp":
        share, grows = 0.0, 0.5 * (1 if Path(PATCH).stem in scenario.kernel.patches else 1 / 16)
        for _ in range(100):
            later = min(1.0, share + grows)
            left = (1 - share / 2) * (1 - later / 2)
            share = later * (15 / 16) ** max(1.0, top * (1 - left))
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
            Implied(0.834, "a sawtooth from 46 packets to 0.58 of them over a path of 40"),
            kernel=Variant(patches=(PATCH,)),
            tolerance=AS_LAW,
            explains=Consistent(
                "the share grows sixteen times too fast, so that the window falls to 0.58, not to 0.9",
                assumed=(SECOND_REDUCTION,),
            ),
            title="a wrong scale",
        ),
        Arm(
            "reno",
            Implied(0.664, "a sawtooth from 46 packets to a quarter of them over a path of 40"),
            workload=flow("reno"),
            tolerance=AS_LAW,
            explains=Consistent(
                "this is what a classic sender carries behind the same queue", assumed=(SECOND_REDUCTION,)
            ),
            title="a classic sender",
        ),
    ),
    tolerance=Within(0.02, because="'full' is but for a fiftieth"),
    accuracy=Within(0.03, because="the law counts whole packets"),
    misses=(ModelMiss("reno", "the law counts neither bursts nor delayed acknowledgements"),),
)
