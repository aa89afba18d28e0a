"""A server that works on a request for 20 minutes gets its answer through to a client behind a translator of addresses.

The report: after 15 minutes of silence the answer is dropped, and the client waits. Keepalive starts after two hours.
"""

from lab import metric, model
from lab.middlebox import Masquerade
from lab.prediction import Prediction, law
from lab.spec.experiment import Arm, Demonstrated, Exactly, Experiment, Implied
from lab.units import Duration, Value
from lab.workload import Program

WORK, MAPPING = 1200, 900  # seconds that the server works, and that the router remembers a silent connection


def answers(keepalive: int) -> Prediction:
    """The law of whether an answer comes, where probes start after so many seconds of silence."""

    @law(formula="1 if min(tcp_keepalive_time, work) < timeout of the mapping, else 0", source="RFC 5382, 5; tcp(7)")
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
        Arm("defaults", Implied(1, "the client gets the response"), prediction=answers(7200), title="keepalive of 2 h"),
        Arm(
            "keepalive-600",
            Implied(1, "for some people just setting these fixed the problem"),
            hosts={"sender": {"sysctls": {"net.ipv4.tcp_keepalive_time": 600}}},
            prediction=answers(600),
            explains=Demonstrated("a probe after 10 minutes keeps the mapping, which lives for 15"),
            title="keepalive of 10 min",
        ),
    ),
    tolerance=Exactly(because="an answer comes or does not"),
    unexplained="the arm with keepalive shows why: nothing else crossed the router for 20 minutes",
    expect="not reproduced",
)
