"""`lab check` refuses a figure that rests on one seed, on one phase, or on the start of a run, with file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.spec import find

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
        ({"uplink": {"forward": {"loss": "1 %"}}}, "its wires lose, delay, reorder or duplicate frames by chance"),
    ],
)
def test_dice_ask_for_ten_seeds(tmp_path: Path, links: object, why: str) -> None:
    text = CLAIM.replace("shared-bottleneck", "home-uplink").replace("    drawn=Drawn(),\n", "")
    text = text.replace("    samples=10,\n", f"    links={links!r},\n")
    assert why in "".join(found(tmp_path, text))
