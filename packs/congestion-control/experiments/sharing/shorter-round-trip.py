"""Of two Reno flows with losses in step, the one with the shorter round trip gets the square of the ratio more.

Lakshman and Madhow (1997): throughput goes with RTT to the power of -2 where all flows lose when a queue is full.
"""

from lab import metric, model
from lab.probe import TcpInfo
from lab.spec.experiment import Arm, Experiment, Implied, Within
from lab.units import Duration
from lab.workload import Bulk, Flow, Flows

LENGTH, SPREAD = Duration.of("120 s"), Duration.of("1 s")

EXPERIMENT = Experiment(
    topology="shared-bottleneck",
    links={"rival-access": {"delay": "10 ms"}},
    workload=Flows(
        (
            Flow("near", Bulk(client="sender", congestion="reno", duration=LENGTH), spread=SPREAD),
            Flow("far", Bulk(client="rival", congestion="reno", duration=LENGTH), spread=SPREAD),
        )
    ),
    probes=(TcpInfo(node="receiver", interval=Duration.of("100 ms")),),
    metric=metric.flow_share("near", 20, 120),
    prediction=model.share_by_rtt,
    arms=(Arm("20-and-40-ms", Implied(0.735, "with half of the queue's 20 ms: 50 ms / 30 ms, squared, to 1")),),
    samples=10,
    tolerance=Within(0.15, because="the flows do not lose in each and every congestion together"),
    accuracy=Within(0.15, because="the flows do not lose in each and every congestion together"),
    unexplained="the near flow gets more, but a quarter to a third and not nearly three times as much. The losses are "
    "not in step: in a trial whose senders were sampled, too, the near flow gave way about twice as often as the far "
    "one, in nearly each congestion. No arm here forces the losses into step, which would show whether that is all.",
    expect="not reproduced",
)
