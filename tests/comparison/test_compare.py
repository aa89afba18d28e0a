"""What changed in a claim: its bytes, its figures, its verdict; in real time by more than chance."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence

import pytest

from lab import outputs
from lab.cli.comparing import Answer
from lab.comparison.compare import ClaimChange, Incomparable, compare
from tests.kinds import Judge

CLAIM = """
    topology="symmetric-1g", workload=Netcat(size=Size.of("{size}")), metric=metric.transfer_time(),
    arms=(Arm("only", reported="1 s"), Arm("twice", reported=2, relative_to="only")),
    tolerance=Within(0.1, because="it is made up"),
"""


def netcat(seconds: float, remark: str = "") -> dict[str, bytes]:
    text = json.dumps({"start_ns": 0, "end_ns": round(seconds * 1e9), "remark": remark})
    return {"netcat.json": text.encode()}


@pytest.fixture
def change(judge: Judge) -> Callable[..., ClaimChange]:
    """The change between samples of seconds; the second arm always takes twice the first."""

    def change(base: Sequence[float], new: Sequence[float], clock: str = "virtual", remark: str = "") -> ClaimChange:
        sides = []
        for kernel, seconds in (("k1", base), ("k2", new)):
            once = [netcat(each, remark if kernel == "k2" else "") for each in seconds]
            twice = [netcat(2 * each) for each in seconds]
            sides.append(judge(CLAIM.format(size="1 MB"), {"only": once, "twice": twice}, kernel, clock))
        (found,) = compare([sides[0]], [sides[1]])
        return found

    return change


@pytest.mark.parametrize(
    ("base", "new", "remark", "expected"),
    [
        (1.0, 1.0, "", "identical"),
        (1.0, 1.0, "another byte", "same figures"),
        (1.0, 1.004, "", "same figures"),
        (1.0, 1.006, "", "moved"),
        (1.0, 1.2, "", "regressed"),
        (1.2, 1.0, "", "moved"),  # not reproduced, and reproduced now
    ],
)
def test_in_virtual_time_every_difference_is_the_kernels(
    change: Callable[..., ClaimChange], base: float, new: float, remark: str, expected: str
) -> None:
    assert change([base], [new], remark=remark).change == expected


@pytest.mark.parametrize(
    ("base", "new", "expected"),
    [
        ([1.02, 1.05, 1.07, 1.09, 1.2], [1.03, 1.06, 1.08, 1.3, 1.4], "same figures"),  # reproduced no more, by chance
        ([1.00, 1.01, 1.02, 1.03, 1.04], [1.05, 1.06, 1.07, 1.08, 1.09], "moved"),
        ([1.00, 1.01, 1.02, 1.03, 1.04], [1.21, 1.22, 1.23, 1.24, 1.25], "regressed"),
        ([1.0000, 1.0001, 1.0002, 1.0003], [1.0004, 1.0005, 1.0006, 1.0007], "same figures"),  # surely, but hardly
        ([1.0], [1.09], "same figures"),  # one run tells nothing
    ],
)
def test_in_real_time_it_takes_more_than_chance(
    change: Callable[..., ClaimChange], base: list[float], new: list[float], expected: str
) -> None:
    assert change(base, new, "real").change == expected


def test_a_claim_of_both_clocks(judge: Judge) -> None:
    """Its trials say which clock they ran by, whatever most of them did."""
    declaration = CLAIM.format(size="1 MB").replace(
        'Arm("twice", reported=2, relative_to="only")', 'Arm("cpu", clock="real")'
    )
    sides = [
        judge(declaration, {"only": [netcat(1.0)] * 4, "cpu": [netcat(each) for each in cpu]}, kernel, {"cpu": "real"})
        for kernel, cpu in (("k1", (1.0, 1.1, 1.2, 1.3)), ("k2", (2.0, 1.1, 1.2, 1.3)))
    ]
    (found,) = compare([sides[0]], [sides[1]])
    only, cpu = found.cases
    assert only.shift is None
    assert cpu.shift
    assert found.change == "same figures"


def spoilt() -> bytes:
    """Evidence of a machine whose clock moves a second at a time, and of nothing else."""
    samples = [
        {"wires": [], "ns": ns, "cpu": {"user": 0, "nice": 0, "system": 0, "idle": idle, "iowait": 0, "steal": 0}}
        | {"own": 0, "cpus": 1, "processes": 1}
        for ns, idle in ((0, 0), (10**9, 100))
    ]
    evidence = {"clock": {"resolution_s": 1.0}, "wires": [], "greedy": False, "samples": samples, "tick": 0.01}
    return json.dumps(evidence).encode()


@pytest.mark.parametrize(
    ("before", "after", "expected"), [(1.0, 1.0, "undecided"), (1.0, 1.2, "regressed"), (1.099, 1.101, "regressed")]
)
def test_a_machine_too_slow_for_real_time_says_nothing_about_the_kernel(
    judge: Judge, before: float, after: float, expected: str
) -> None:
    declaration = CLAIM.format(size="1 MB").replace(
        'Arm("twice", reported=2, relative_to="only")', 'Arm("cpu", reported="1 s", clock="real")'
    )
    sides = [
        judge(declaration, {"only": [netcat(only)], "cpu": [netcat(1.0) | evidence]}, kernel, {"cpu": "real"})
        for kernel, only, evidence in (("k1", before, {}), ("k2", after, {outputs.FIDELITY: spoilt()}))
    ]
    (found,) = compare([sides[0]], [sides[1]])
    assert (found.base.kind, found.change) == ("reproduced", expected)
    suite = ET.fromstring(Answer((found,)).junit())
    assert suite.get("skipped") == str(int(expected == "undecided"))
    assert Answer((found,)).exit_code == (expected == "regressed")


def test_a_ratio_is_that_of_the_same_repeat(change: Callable[..., ClaimChange]) -> None:
    _, twice = change([1, 1.1, 1.2, 1.3], [2, 2.1, 2.2, 2.3], "real").cases
    assert twice.shift
    assert (twice.shift.p, twice.shift.effect, twice.moved) == (1, 0, False)


def test_what_was_skipped_was_not_compared(judge: Judge) -> None:
    """A claim of which one kernel lacks a variant: its other arms are compared."""
    declaration = CLAIM.format(size="1 MB").replace("relative_to", 'tolerance=Within(0.1, because="so"), relative_to')
    whole, part = (
        judge(declaration, {"only": [netcat(1)], "twice": twice}, kernel)
        for kernel, twice in (("k1", [netcat(2)]), ("k2", []))
    )
    for pair in ([whole], [part]), ([part], [whole]):
        (found,) = compare(*pair)
        assert found.change == "same figures"
        assert {found.base.kind, found.new.kind} == {"reproduced", "skipped"}


def test_another_experiment_is_not_compared(judge: Judge) -> None:
    sides = [
        judge(CLAIM.format(size=size), {"only": [netcat(1)], "twice": [netcat(2)]}, kernel)
        for kernel, size in (("k1", "1 MB"), ("k2", "2 MB"))
    ]
    with pytest.raises(Incomparable, match="the experiment changed in between"):
        compare([sides[0]], [sides[1]])
