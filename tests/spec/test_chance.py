"""`lab check` refuses a figure that rests on one seed, on one phase, or on the start of a run, with file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.guest.workload import Bulk
from lab.spec import chance, find, topology
from lab.spec.changes import Changes

CLAIM = '''"""Two flows share evenly."""

from lab import (
    Arm,
    Bulk,
    Drawn,
    Duration,
    Experiment,
    Flow,
    Flows,
    Implied,
    QueueState,
    Steady,
    TcpInfo,
    Within,
    metric,
    model,
)

LENGTH = Duration.of("20 s")
PAIR = Flows((Flow("a", Bulk(duration=LENGTH)), Flow("b", Bulk(client="rival", duration=LENGTH))))

EXPERIMENT = Experiment(
    topology="shared-bottleneck",
    workload=PAIR,
    probes=(TcpInfo(node="receiver"),),
    metric=metric.flow_share("a"),
    prediction=model.fair_share,
    arms=(Arm("only", Implied(0.5, "half")),),
    samples=10,
    steady=Steady(),
    drawn=Drawn(),
    tolerance=Within(0.1, because="a digit"),
)
'''
PLANTED = {
    "no warm-up is cut": ("    steady=Steady(),\n", "", "its law, fair_share, is about the long run"),
    "no warm-up is cut, and no law says so": (
        "    prediction=model.fair_share,\n",
        "",
        "its metric is a mean over time that includes the start of the run",
    ),
    "times are cut by hand": ('flow_share("a")', 'flow_share("a", 5, 20)', "its metric includes the start of the run"),
    "the law is compared with a whole transfer": (
        'flow_share("a")',
        "bulk_goodput()",
        "use a metric that is a mean over time",
    ),
    "one phase decides": ("    drawn=Drawn(),\n", "", "a hundredth of a millisecond decides which flow loses"),
    "one seed decides": ("    samples=10,\n", "", "samples=1, but each seed draws its network by chance"),
    "a cut has no reason": ("steady=Steady()", 'steady=Steady(after="10 s")', "a fixed cut needs a reason"),
}


def found(folder: Path, text: str) -> list[str]:
    path = folder / "claim.py"
    path.write_text(text)
    return [f"{problem.line}: {problem.message}" for problem in find.check([path])]


def test_what_keeps_the_rules_is_no_mistake(tmp_path: Path) -> None:
    assert found(tmp_path, CLAIM) == []


@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_is_told_with_its_line(tmp_path: Path, fault: str) -> None:
    was, now, message = PLANTED[fault]
    text = CLAIM.replace(was, now)
    assert text != CLAIM
    if fault.endswith("no law says so"):
        text = text.replace("    steady=Steady(),\n", "")
    (problem,) = found(tmp_path, text)
    assert message in problem
    assert int(problem.split(":")[0]) > 1


@pytest.mark.parametrize(
    ("links", "why"),
    [
        ({"uplink": {"forward": {"queue": "pie"}}}, "its queue, pie, drops or marks by chance"),
        ({"uplink": {"forward": {"queue": "dualpi2"}}}, "its queue, dualpi2, drops or marks by chance"),
        ({"uplink": {"forward": {"slot": {"min": "1 ms", "max": "50 ms"}}}}, "its wires release frames by chance"),
        ({"uplink": {"forward": {"loss": "1 %"}}}, "its wires lose, delay, reorder or duplicate frames by chance"),
    ],
)
def test_dice_ask_for_ten_seeds(tmp_path: Path, links: object, why: str) -> None:
    text = CLAIM.replace("shared-bottleneck", "home-uplink").replace("    drawn=Drawn(),\n", "")
    text = text.replace("    samples=10,\n", f"    links={links!r},\n")
    assert why in "".join(found(tmp_path, text))


def test_a_regular_slot_asks_for_one_seed(tmp_path: Path) -> None:
    text = CLAIM.replace("shared-bottleneck", "home-uplink").replace("    samples=10,\n    steady", "    steady")
    slot = {"uplink": {"forward": {"slot": {"min": "5 ms", "max": "5 ms"}, "queue": "fq_codel"}}}
    assert found(tmp_path, text.replace("    drawn=Drawn(),\n", f"    links={slot!r},\n")) == []


ROUTED = """
about: Two ways between two hosts.
hosts:
  a: {routes: [{to: b, via: [upper, lower]}]}
  b: {}
routers: [upper, lower]
links:
  to-upper: {ends: [a, upper]}
  to-lower: {ends: [a, lower]}
  from-upper: {ends: [upper, b]}
  from-lower: {ends: [lower, b]}
"""


@pytest.mark.parametrize(
    ("sysctls", "is_chance"),
    [
        ({}, True),
        ({"net.ipv4.fib_multipath_hash_seed": "7"}, False),
        ({"net.ipv4.fib_multipath_hash_seed": "7", "net.ipv4.fib_multipath_hash_policy": "1"}, True),
    ],
    ids=["the kernel's key", "a fixed key", "a fixed key, and ports"],
)
def test_the_kernel_draws_the_key_that_chooses_next_hops(sysctls: dict[str, str], is_chance: bool) -> None:
    network = topology.parse(ROUTED, Path("routed.yaml")).resolve(Changes(hosts={"a": {"sysctls": sysctls}}))
    wrong = list(chance.mistakes(network, Bulk(client="a", server="b"), None, 1, "", True))
    assert bool(wrong) is is_chance
    assert all("a chooses one of several next hops by chance" in each for each in wrong)


def test_a_buckets_own_rate_is_the_slowest_one(tmp_path: Path) -> None:
    bucket = {"uplink": {"forward": {"queue": {"kind": "tbf", "rate": "1 Mbit/s", "burst": "4 kB", "limit": "9 kB"}}}}
    text = CLAIM.replace("shared-bottleneck", "home-uplink").replace("    drawn=Drawn(),\n", f"    links={bucket!r},\n")
    (problem,) = found(tmp_path, text)
    assert "a hundredth of a millisecond decides which flow loses" in problem
