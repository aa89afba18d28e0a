"""Where ends and queue know ECN, congestion is told by marks, and nothing is lost or sent twice.

RFC 3168, section 5.
"""

from lab import metric, model
from lab.probe import TcpInfo
from lab.spec.experiment import Absolute, Arm, Experiment, Implied, Refutes
from lab.units import Duration
from lab.workload import Bulk

NOTHING = Implied(0, "marked instead of dropped")


EXPERIMENT = Experiment(
    topology="home-uplink",
    sysctls={"net.ipv4.tcp_ecn": 1},
    links={"uplink": {"forward": {"queue": {"kind": "codel", "ecn": True, "limit": 10000}}}},
    workload=Bulk(duration=Duration.of("60 s")),
    probes=(TcpInfo(node="sender", interval=Duration.of("100 ms")),),
    metric=metric.retransmitted_share("sender"),
    prediction=model.nothing_lost,
    arms=(
        Arm("codel", NOTHING),
        Arm("fq_codel", NOTHING, links={"uplink": {"forward": {"queue": {"kind": "fq_codel"}}}}),
        Arm("pie", NOTHING, links={"uplink": {"forward": {"queue": {"kind": "pie"}}}}),
        Arm("cake", NOTHING, links={"uplink": {"forward": {"queue": "cake"}}}),
        Arm(
            "without-ecn",
            NOTHING,
            sysctls={"net.ipv4.tcp_ecn": 0},
            explains=Refutes(
                "that this queue would lose nothing anyway: without ECN segments are lost, and sent again"
            ),
        ),
    ),
    tolerance=Absolute(1e-9, because="not one segment: a minute has 50,000"),
    accuracy=Absolute(1e-9, because="the law says none"),
    unexplained="CoDel, fq_codel and cake lose nothing, PIE one segment in 3,000. RFC 8033, 5.1, has it drop what it "
    "could mark while its probability is above a tenth, as it may be at a start. No arm here looks at that.",
    expect="not reproduced",
)
