"""Where ends and queue know ECN, a queue tells incipient congestion by marks, and drops nothing before it is full.

RFC 3168, sections 5 and 7: a router marks where it would drop because of an average queue. It may still drop when its
queue is full. RFC 8033, section 5.1, has PIE drop what it could mark while its probability is above a tenth.
"""

from lab import Absolute, Arm, Bulk, Drawn, Duration, Experiment, Implied, Refutes, TcpInfo, metric, model

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
        Arm("cake", NOTHING, links={"uplink": {"forward": {"queue": "cake"}}}),
        Arm(
            "pie",
            NOTHING,
            links={"uplink": {"forward": {"queue": {"kind": "pie"}}}},
            explains=Refutes(
                "that each queue which marks does not drop: PIE drops what it could mark while its probability is "
                "above a tenth, as RFC 8033 has it"
            ),
        ),
        Arm(
            "without-ecn",
            NOTHING,
            sysctls={"net.ipv4.tcp_ecn": 0},
            explains=Refutes(
                "that this queue would lose nothing anyway: without ECN segments are lost, and sent again"
            ),
        ),
    ),
    samples=10,
    drawn=Drawn(),
    tolerance=Absolute(1e-9, because="not one segment: a minute has 50,000"),
    accuracy=Absolute(1e-9, because="the law says none"),
)
