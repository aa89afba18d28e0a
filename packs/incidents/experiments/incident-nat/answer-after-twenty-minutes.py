"""A probe of keepalive, ten minutes after the last segment, keeps a translator's mapping for an answer after twenty.

The report: after 15 minutes of silence the answer is dropped, and the client waits; a keepalive that starts earlier
than that, and not after two hours, helped some. That the translator forgets is set here; that a probe counts is not.
"""

from lab import (
    Arm,
    Duration,
    Exactly,
    Experiment,
    Implied,
    Masquerade,
    Prediction,
    Program,
    Refutes,
    Value,
    metric,
    model,
    replay,
)

WORK, MAPPING = 1200, 900  # seconds that the server works, and that the router remembers a silent connection


def answers(keepalive: int) -> Prediction:
    """The law of whether an answer comes, where probes start after so many seconds of silence."""

    @replay(formula="1 if min(tcp_keepalive_time, work) < timeout of the mapping, else 0", source="RFC 5382, 5; tcp(7)")
    def come(scenario: model.Scenario) -> Value:
        """Each packet starts the mapping's time anew, a probe of keepalive as well; without one it is forgotten."""
        del scenario
        return Value(int(min(keepalive, WORK) < MAPPING), "1")

    return come


EXPERIMENT = Experiment(
    topology="forgetful-nat",
    middleboxes=(Masquerade(node="nat"),),
    workload=Program(
        argv=("python3", "{files}/_ask.py", "{server}", "{port}"),
        service=("python3", "{files}/_work.py", "{port}", str(WORK)),
        files=("_ask.py", "_work.py"),
        limit=Duration.of("90 min"),
    ),
    metric=metric.program_json("answers"),
    arms=(
        Arm(
            "keepalive-600",
            Implied(1, "for some people just setting these fixed the problem"),
            hosts={"sender": {"sysctls": {"net.ipv4.tcp_keepalive_time": 600}}},
            prediction=answers(600),
            title="keepalive of 10 min",
        ),
        Arm(
            "defaults",
            Implied(1, "the client gets the response"),
            prediction=answers(7200),
            explains=Refutes("that the answer would come anyway: a probe after two hours finds no mapping"),
            title="keepalive of 2 h",
        ),
    ),
    tolerance=Exactly(because="an answer comes or does not"),
)
