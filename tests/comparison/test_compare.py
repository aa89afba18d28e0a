"""What changed in a claim: its bytes, its figures, its verdict; in real time by more than chance."""

from __future__ import annotations

import io
import json
import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence
from typing import get_args

import pytest
from rich.console import Console

from lab import outputs
from lab.cli.comparing import Answer
from lab.comparison.compare import Change, ClaimChange, Incomparable, compare
from tests.kinds import Judge
from tests.verdict.evidence import calm, evidence

CLAIM = """
    topology="symmetric-1g", workload=Netcat(size=Size.of("{size}")), metric=metric.transfer_time(),
    arms=(Arm("only", Reported("1 s", "it says so")), Arm("twice", Reported(2, "it says so"), relative_to="only")),
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
            watched = {outputs.FIDELITY: calm()} if clock == "real" else {}
            once = [netcat(each, remark if kernel == "k2" else "") | watched for each in seconds]
            twice = [netcat(2 * each) | watched for each in seconds]
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


CAPTURED = CLAIM.format(size="1 MB").replace("metric=", 'probes=(Capture(node="sender"),), metric=')
PCAP = "capture.sender.eth0.pcap"


@pytest.mark.parametrize(
    ("seconds", "remark", "packets", "expected"),
    [
        (1.0, "", {}, "identical"),
        (1.0, "", {"isn": 2}, "same packets"),
        (1.0, "another byte", {}, "same packets"),
        (1.0, "", {"window": 1}, "same figures"),
        (1.001, "", {"isn": 2}, "same figures"),  # the figure is another one, if hardly
        (1.01, "", {"isn": 2}, "moved"),
        (1.2, "", {}, "regressed"),
    ],
)
def test_a_capture_says_whether_packets_differ(
    judge: Judge, syn: Callable[..., bytes], seconds: float, remark: str, packets: dict[str, int], expected: str
) -> None:
    sides = [
        judge(CAPTURED, {"only": [netcat(each, said) | {PCAP: capture}], "twice": [netcat(2)]}, kernel)
        for kernel, each, said, capture in (("k1", 1, "", syn()), ("k2", seconds, remark, syn(**packets)))
    ]
    (found,) = compare([sides[0]], [sides[1]])
    assert found.change == expected
    only, twice = found.cases
    assert only.packets.said == ("differ" if "window" in packets else "same" if packets else "identical")
    assert twice.packets.said is None


def test_every_trial_without_packets_keeps_a_claim_at_its_figures(judge: Judge, syn: Callable[..., bytes]) -> None:
    sides = [
        judge(CAPTURED, {"only": [netcat(1) | {PCAP: capture}], "twice": [netcat(2, remark)]}, kernel)
        for kernel, capture, remark in (("k1", syn(), ""), ("k2", syn(isn=2), "another byte"))
    ]
    (found,) = compare([sides[0]], [sides[1]])
    assert found.change == "same figures"
    assert [each.packets.said for each in found.cases] == ["same", None]


def test_what_is_said_of_them_all(judge: Judge, syn: Callable[..., bytes]) -> None:
    """In JSON, in the terminal and as JUnit: each case's first packet, or its files; how many claims, and by cause."""
    declaration = CAPTURED.replace(
        ', Arm("twice", Reported(2, "it says so"), relative_to="only")', ', Arm("b"), Arm("c")'
    )
    changed = {"only": {"window": 1}, "b": {"mss": 1456}, "c": {"isn": 2}}
    sides = [
        judge(declaration, {arm: [netcat(1) | {PCAP: syn(**by)}] for arm, by in packets.items()}, kernel)
        for kernel, packets in (("k1", {arm: {} for arm in changed}), ("k2", changed))
    ]
    answer = Answer(compare([sides[0]], [sides[1]]))
    said = answer.plain()
    assert said["counts"] == dict.fromkeys(get_args(Change), 0) | {"same figures": 1}
    assert said["causes"] == {"options": ("toy/claim",), "window": ("toy/claim",)}
    only, b, c = said["claims"][0]["cases"]
    assert (only["packets"], only["divergence"]["what"]) == ("differ", "window")
    assert (b["packets"], b["divergence"]["what"]) == ("differ", "options")
    assert (c["packets"], c["divergence"]) == ("same", None)
    (file,) = c["files"]
    assert file["file"] == PCAP

    console = Console(width=200, record=True, file=io.StringIO())
    console.print(answer.render())
    text = console.export_text()
    for line in (
        f"only: packet 1 of {PCAP} differs in window",
        f"b: packet 1 of {PCAP} differs in options",
        f"c: the same packets, other bytes in {PCAP}, byte {file['byte']}",
        "1 claim: 1 same figures",
    ):
        assert line in text
    suite = ET.fromstring(answer.junit())
    assert suite.findtext("testcase/system-out", "").startswith("same figures\nonly: packet 1")
    assert suite.findtext("system-out", "").startswith(
        "1 claim: 1 same figures\nfirst packets differ in\n  options: toy"
    )


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
        'Arm("twice", Reported(2, "it says so"), relative_to="only")', 'Arm("cpu", clock="real")'
    )
    sides = [
        judge(
            declaration,
            {"only": [netcat(1.0)] * 4, "cpu": [netcat(each) | {outputs.FIDELITY: calm()} for each in cpu]},
            kernel,
            {"cpu": "real"},
        )
        for kernel, cpu in (("k1", (1.0, 1.1, 1.2, 1.3)), ("k2", (2.0, 1.1, 1.2, 1.3)))
    ]
    (found,) = compare([sides[0]], [sides[1]])
    only, cpu = found.cases
    assert only.shift is None
    assert cpu.shift
    assert found.change == "same figures"


def spoilt() -> bytes:
    """Evidence of a machine whose clock moves a second at a time."""
    return json.dumps(evidence(clock={"resolution_s": 1.0})).encode()


@pytest.mark.parametrize(
    ("before", "after", "expected"), [(1.0, 1.0, "undecided"), (1.0, 1.2, "regressed"), (1.099, 1.101, "regressed")]
)
def test_a_machine_too_slow_for_real_time_says_nothing_about_the_kernel(
    judge: Judge, before: float, after: float, expected: str
) -> None:
    declaration = CLAIM.format(size="1 MB").replace(
        'Arm("twice", Reported(2, "it says so"), relative_to="only")',
        'Arm("cpu", Reported("1 s", "it says so"), clock="real")',
    )
    sides = [
        judge(
            declaration,
            {"only": [netcat(only)], "cpu": [netcat(1.0) | {outputs.FIDELITY: watched}]},
            kernel,
            {"cpu": "real"},
        )
        for kernel, only, watched in (("k1", before, calm()), ("k2", after, spoilt()))
    ]
    (found,) = compare([sides[0]], [sides[1]])
    assert (found.base.kind, found.change) == ("reproduced", expected)
    suite = ET.fromstring(Answer((found,)).junit())
    assert suite.get("skipped") == str(int(expected == "undecided"))
    assert Answer((found,)).exit_code == (expected == "regressed")


def test_spoilt_repeats_are_no_samples(judge: Judge) -> None:
    """Four of eight repeats took three times as long on a machine that was too slow: nothing moved."""
    declaration = CLAIM.format(size="1 MB").replace(' Arm("twice", Reported(2, "it says so"), relative_to="only")', "")
    sides = [
        judge(
            declaration,
            {"only": [netcat(each) | {outputs.FIDELITY: watched} for each, watched in repeats]},
            kernel,
            "real",
        )
        for kernel, repeats in (
            ("k1", [(each, calm()) for each in (1.00, 1.01, 1.02, 1.03)]),
            ("k2", [(each, calm()) for each in (1.00, 1.01, 1.02, 1.03)] + [(3.0, spoilt())] * 4),
        )
    ]
    (found,) = compare([sides[0]], [sides[1]])
    (only,) = found.cases
    assert only.shift
    assert (only.shift.p, only.moved) == (1, False)
    assert (only.new.valid, only.new.repeats) == (4, 8)


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


def test_what_neither_side_ran_does_not_count(judge: Judge) -> None:
    declaration = CLAIM.format(size="1 MB")
    sides = [judge(declaration, {"only": [netcat(1)], "twice": []}, kernel) for kernel in ("k1", "k2")]
    (found,) = compare([sides[0]], [sides[1]])
    assert (found.base.kind, found.change) == ("skipped", "identical")


def test_another_experiment_is_not_compared(judge: Judge) -> None:
    sides = [
        judge(CLAIM.format(size=size), {"only": [netcat(1)], "twice": [netcat(2)]}, kernel)
        for kernel, size in (("k1", "1 MB"), ("k2", "2 MB"))
    ]
    with pytest.raises(Incomparable, match="the experiment changed in between"):
        compare([sides[0]], [sides[1]])
