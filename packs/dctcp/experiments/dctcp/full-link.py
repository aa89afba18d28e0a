"""A threshold of more than a seventh of the bandwidth-delay product, and a sender's burst, keeps the link full.

Sections 3.4 and 3.5: allowances are to be made for bursts, and with offloads of 30 to 40 packets more than 60 were
needed where the bound is 20. Over 2 ms a gigabit holds 163 frames: a seventh are 23, a burst is 44, and it is 70.
"""

from lab import (
    Arm,
    Bulk,
    Demonstrated,
    Duration,
    Experiment,
    Flow,
    Flows,
    Implied,
    Program,
    Refutes,
    Steady,
    TcpInfo,
    Value,
    Within,
    law,
    metric,
    model,
)

START, LENGTH, SPREAD = Duration.of("100 ms"), Duration.of("3 s"), Duration.of("10 ms")
BOTH_ENDS = Flow(
    "both-ends",
    Program(argv=("python3", "{files}/_both_ends.py"), files=("_both_ends.py",), client="receiver"),
)
BURST = 44  # frames of 1448 B in the 64 KiB that offload takes at once
FULL = Implied("941 Mbit/s", "1 Gbit/s × 1448 / 1538")


def threshold(time: str) -> dict[str, dict[str, object]]:
    """A port over 2 ms of round trip that marks from this threshold on."""
    queue = {"kind": "codel", "limit": 10000, "target": "1 s", "interval": "2 s", "ecn": True, "ce_threshold": time}
    return {"port": {"delay": "1 ms", "forward": {"queue": queue}}}


@law(
    formula="rate × payload / frame where K > C × RTT / 7 + burst",
    source="DCTCP, SIGCOMM 2010, section 3.4; IEEE 802.3",
)
def full_link(scenario: model.Scenario) -> Value:
    """The queue of such a threshold never runs empty, for senders in step with windows of many segments."""
    (queue,) = (hop.queue for hop in scenario.forward if hop.queue)
    assert scenario.rate is not None
    held = Duration.of(str(dict(queue.parameters)["ce_threshold"])).seconds * scenario.rate.bps / 8
    senders = (flow.scenario for flow in scenario.flows if flow.scenario.writer.congestion == "dctcp")
    burst = 1538 * max(each.sender.interface.gso_max_segs or BURST for each in senders)
    if held < model.dctcp_threshold(scenario).number + burst:
        raise model.ModelError("the threshold is less than a seventh of the bandwidth-delay product, and a burst")
    return model.total_goodput(scenario)


EXPERIMENT = Experiment(
    topology="rack",
    workload=Flows(
        (
            BOTH_ENDS,
            Flow("first", Bulk(client="sender", congestion="dctcp", duration=LENGTH), start=START, spread=SPREAD),
            Flow("second", Bulk(client="rival", congestion="dctcp", duration=LENGTH), start=START, spread=SPREAD),
        )
    ),
    probes=(TcpInfo(node="receiver", interval=Duration.of("100 ms")),),
    metric=metric.total_goodput(),
    prediction=full_link,
    arms=(
        Arm("70-frames", FULL, links=threshold("861 us")),
        Arm(
            "30-frames",
            FULL,
            links=threshold("369 us"),
            explains=Refutes("that the seventh alone would do: a sender's bursts cross the threshold by themselves"),
        ),
        Arm(
            "30-frames-without-bursts",
            FULL,
            links=threshold("369 us"),
            hosts={"sender": {"gso_max_segs": 1}, "rival": {"gso_max_segs": 1}},
            explains=Demonstrated("the allowance is for bursts: one by one, segments fill the link at 30 frames, too"),
        ),
        Arm(
            "4-frames",
            FULL,
            links=threshold("49 us"),
            explains=Refutes("that any threshold would do: with one far below a seventh, the link is not full"),
        ),
    ),
    samples=10,
    steady=Steady(),
    tolerance=Within(0.01, because="'full' is but for a hundredth"),
    accuracy=Within(0.01, because="the model has the link full but for what is sent twice"),
    other_seeds=("inconclusive",),
)
