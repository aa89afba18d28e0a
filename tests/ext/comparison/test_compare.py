"""What changed in a claim: its bytes, its figures, its verdict; in real time by more than chance."""

from __future__ import annotations

import io
import json
import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NoReturn, get_args

import pytest
from rich.console import Console

from lab.ext.comparison import summary
from lab.ext.comparison.compare import Change, ClaimChange, Incomparable, compare
from lab.ext.comparison.display import Answer
from lab.ext.comparison.page import Changes
from lab.ext.comparison.words import chance
from lab.guest.outputs import FIDELITY
from lab.model import ModelError
from lab.verdict import Verdict, evaluate
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


def _no_prediction(*_: object) -> NoReturn:
    raise ModelError("no kernel to predict for")


def in_real_time(seconds: float, remark: str) -> dict[str, bytes]:
    """The same on a machine that was fast enough."""
    return netcat(seconds, remark) | {FIDELITY: calm()}


@pytest.fixture
def change(judge: Judge) -> Callable[..., ClaimChange]:
    """The change between samples of seconds; the second arm always takes twice the first."""

    def change(base: Sequence[float], new: Sequence[float], clock: str = "virtual", remark: str = "") -> ClaimChange:
        sides = []
        for kernel, seconds in (("k1", base), ("k2", new)):
            watched = {FIDELITY: calm()} if clock == "real" else {}
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
        (1.0, 1.006, "", "figure moved"),
        (1.0, 1.2, "", "verdict changed"),
        (1.2, 1.0, "", "verdict changed"),  # which of the two is good is not said
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
        (1.0, "", {"window": 1}, "packets differ"),
        (1.001, "", {"isn": 2}, "same figures"),  # the figure is another one, if hardly
        (1.01, "", {"isn": 2}, "figure moved"),
        (1.2, "", {}, "verdict changed"),
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
    """In JSON, in the terminal and as JUnit: each case's first packet, or its files; how many claims, and by cause.

    The terminal leaves out the case whose packets are the same.
    """
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
    assert said["counts"] == dict.fromkeys(get_args(Change), 0) | {"packets differ": 1}
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
        "Options of the SYN changed: the SYN has mss 1456; on the base kernel mss 1460",
        "Receive window in 1 claim: the SYN offers 1 B; on the base kernel 8,192 B",
        f"toy/claim b: packet 1 of {PCAP}",
        "1 claim: 1 with different packets",
    ):
        assert line in text
    assert "other bytes" not in text
    suite = ET.fromstring(answer.junit())
    detail = suite.findtext("testcase/system-out", "")
    assert detail.startswith("packets differ\nonly: packet 1")
    assert f"c: the same packets, other bytes in {PCAP}, byte {file['byte']}" in detail
    assert suite.findtext("system-out", "").startswith(
        "1 claim: 1 with different packets\nfirst packets differ in\n  options: toy"
    )


@pytest.mark.parametrize(
    ("base", "new", "expected"),
    [
        ([1.02, 1.05, 1.07, 1.09, 1.2], [1.03, 1.06, 1.08, 1.3, 1.4], "cannot tell"),  # reproduced no more, by chance
        ([1.00, 1.01, 1.02, 1.03, 1.04], [1.05, 1.06, 1.07, 1.08, 1.09], "figure moved"),
        ([1.00, 1.01, 1.02, 1.03, 1.04], [1.21, 1.22, 1.23, 1.24, 1.25], "verdict changed"),
        ([1.0000, 1.0001, 1.0002, 1.0003], [1.0004, 1.0005, 1.0006, 1.0007], "same figures"),  # surely, but hardly
        ([1.00, 1.02, 1.04, 1.06, 1.08], [1.01, 1.03, 1.05, 1.07, 1.09], "cannot tell"),  # the interval is too wide
        ([1.0], [1.09], "cannot tell"),  # one run tells nothing
        ([1.00, 1.01, 1.02], [0.61, 0.62, 0.63], "cannot tell"),  # 39 % less, but 3 against 3 cannot show any step
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
            {"only": [netcat(1.0)] * 4, "cpu": [netcat(each) | {FIDELITY: calm()} for each in cpu]},
            kernel,
            {"cpu": "real"},
        )
        for kernel, cpu in (("k1", (1.0, 1.1, 1.2, 1.3)), ("k2", (2.0, 1.1, 1.2, 1.3)))
    ]
    (found,) = compare([sides[0]], [sides[1]])
    only, cpu = found.cases
    assert (only.shift, only.change) == (None, "identical")
    assert cpu.shift
    assert found.change == "cannot tell"


def spoilt() -> bytes:
    """Evidence of a machine whose clock moves a second at a time."""
    return json.dumps(evidence(clock={"resolution_s": 1.0})).encode()


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [(1.0, 1.0, "undecided"), (1.0, 1.2, "verdict changed"), (1.099, 1.101, "verdict changed")],
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
            {"only": [netcat(only)], "cpu": [netcat(1.0) | {FIDELITY: watched}]},
            kernel,
            {"cpu": "real"},
        )
        for kernel, only, watched in (("k1", before, calm()), ("k2", after, spoilt()))
    ]
    (found,) = compare([sides[0]], [sides[1]])
    assert (found.base.kind, found.change) == ("reproduced", expected)
    suite = ET.fromstring(Answer((found,)).junit())
    assert suite.get("skipped") == str(int(expected == "undecided"))
    assert Answer((found,)).exit_code == (expected == "verdict changed")


def test_spoilt_repeats_are_no_samples(judge: Judge) -> None:
    """Four of eight repeats took three times as long on a machine that was too slow: nothing moved."""
    declaration = CLAIM.format(size="1 MB").replace(' Arm("twice", Reported(2, "it says so"), relative_to="only")', "")
    sides = [
        judge(
            declaration,
            {"only": [netcat(each, kernel) | {FIDELITY: watched} for each, watched in repeats]},
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
    assert (only.shift.test.p, only.change) == (1, "cannot tell")
    assert (only.new.valid, only.new.repeats) == (4, 8)


def test_a_ratio_is_that_of_the_same_repeat(change: Callable[..., ClaimChange]) -> None:
    _, twice = change([1, 1.1, 1.2, 1.3], [2, 2.1, 2.2, 2.3], "real").cases
    assert twice.shift
    assert (twice.shift.test.p, twice.shift.test.effect, twice.change) == (1, 0, "same figures")


def test_what_was_skipped_was_not_compared(judge: Judge) -> None:
    """A claim of which one kernel lacks a variant: its other arms are compared, and that one is not."""
    declaration = CLAIM.format(size="1 MB").replace("relative_to", 'tolerance=Within(0.1, because="so"), relative_to')
    whole, part = (
        judge(declaration, {"only": [netcat(1)], "twice": twice}, kernel)
        for kernel, twice in (("k1", [netcat(2)]), ("k2", []))
    )
    for pair in ([whole], [part]), ([part], [whole]):
        (found,) = compare(*pair)
        assert found.change == "cannot tell"
        assert {found.base.kind, found.new.kind} == {"reproduced", "skipped"}
        assert [case.change for case in found.cases] == ["identical", "cannot tell"]
        assert any("not compared, skipped on the" in said for said in chance(found.cases[1]))


def test_what_neither_side_ran_does_not_count(judge: Judge) -> None:
    declaration = CLAIM.format(size="1 MB")
    sides = [judge(declaration, {"only": [netcat(1)], "twice": []}, kernel) for kernel in ("k1", "k2")]
    (found,) = compare([sides[0]], [sides[1]])
    assert (found.base.kind, found.change) == ("skipped", "identical")


@pytest.mark.parametrize("lacks", [("k1",), ("k2",), ("k1", "k2")])
def test_a_claim_without_records_is_named(judge: Judge, lacks: tuple[str, ...]) -> None:
    """A claim that a side has no record of stands among the others, with the reason: nobody can tell what changed."""
    declaration = CLAIM.format(size="1 MB")
    sides = [
        judge(declaration, {arm: [] if kernel in lacks else [netcat(1)] for arm in ("only", "twice")}, kernel)
        for kernel in ("k1", "k2")
    ]
    found = compare([sides[0]], [sides[1]])
    assert [each.change for each in found] == ["cannot tell"]
    answer = Answer(found)
    assert (answer.exit_code, answer.plain()["counts"]["cannot tell"]) == (0, 1)
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(answer.render())
    (skipped,) = ET.fromstring(answer.junit()).iter("skipped")
    for text in (console.export_text(), skipped.text or "", Changes(found).not_compared().text):
        for kernel, side in (("k1", "base"), ("k2", "new")):
            assert (f"nothing to compare on the {side} kernel: only: not run" in text) == (kernel in lacks)


def test_a_claim_that_fails_on_one_kernel_has_changed(judge: Judge) -> None:
    declaration = CLAIM.format(size="1 MB")
    whole, none = (
        judge(declaration, {"only": some, "twice": some}, kernel) for kernel, some in (("k1", [netcat(1)]), ("k2", []))
    )
    failed = replace(
        none,
        result=evaluate(
            none.cases,
            [],
            _no_prediction,
            "k2",
            "virtual",
            dict.fromkeys((case.key for case in none.cases), Verdict("invalid", "the guest hung")),
        ),
    )
    (found,) = compare([whole], [failed])
    assert found.change == "verdict changed"
    ((_, why),) = found.lacking
    assert "the guest hung" in why.reason
    (found,) = compare([failed], [failed])
    assert found.change == "cannot tell"


def test_an_arm_that_fails_on_one_kernel_says_why(judge: Judge) -> None:
    """A setting that an older kernel lacks, say: the other arms are compared, and the reason is in the answer."""
    declaration = CLAIM.format(size="1 MB").replace("relative_to", 'tolerance=Within(0.1, because="so"), relative_to')
    broken = {"netcat.json": b"no JSON"}
    sides = [
        judge(declaration, {"only": [netcat(1)], "twice": [twice]}, kernel)
        for kernel, twice in (("k1", broken), ("k2", netcat(2)))
    ]
    (found,) = compare([sides[0]], [sides[1]])
    assert [case.change for case in found.cases] == ["identical", "figure moved"]
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(Answer((found,)).render())
    assert "twice: no figure on the base kernel: " in console.export_text()


def test_another_experiment_is_not_compared(judge: Judge) -> None:
    sides = [
        judge(CLAIM.format(size=size), {"only": [netcat(1)], "twice": [netcat(2)]}, kernel)
        for kernel, size in (("k1", "1 MB"), ("k2", "2 MB"))
    ]
    with pytest.raises(Incomparable, match="the experiment changed in between"):
        compare([sides[0]], [sides[1]])


# -- chance in virtual time: seeds

LOSSY = """
    topology="lossy", workload=Netcat(size=Size.of("1 MB")), metric=metric.transfer_time(),
    samples={samples}, few_samples="it is made up",
    arms=(Arm("only", Reported("1 s", "it says so")), Arm("other")), tolerance=Within(0.5, because="it is made up"),
"""


def over_seeds(judge: Judge, base: Sequence[float], new: Sequence[float], **options: float) -> ClaimChange:
    """The change of a transfer over a path that loses frames, one figure a seed; the other arm's bytes are the same."""
    sides = [
        judge(
            LOSSY.format(samples=len(seconds)),
            {"only": [netcat(each) for each in seconds], "other": [netcat(1.0)] * len(seconds)},
            kernel,
        )
        for kernel, seconds in (("k1", base), ("k2", new))
    ]
    (found,) = compare([sides[0]], [sides[1]], **options)
    return found


TEN = [1 + 0.02 * step for step in range(10)]


@pytest.mark.parametrize(
    ("base", "new", "expected"),
    [
        ([1.0], [1.13], "cannot tell"),  # another seed might give as much
        (TEN, [1.005 * each for each in reversed(TEN)], "cannot tell"),
        (TEN, [1.25 * each for each in TEN], "figure moved"),
        (TEN, [each + 0.0001 for each in TEN], "cannot tell"),  # it scatters too much to exclude 0.5 %
        ([1.0] * 10, [1.0] * 9 + [1.0001], "same figures"),
        ([1.0] * 10, [1.02] * 10, "figure moved"),
    ],
)
def test_where_frames_are_lost_by_chance_seeds_are_a_sample(
    judge: Judge, base: list[float], new: list[float], expected: str
) -> None:
    found = over_seeds(judge, base, new)
    assert found.change == expected
    assert [case.is_chance for case in found.cases] == [True, True]
    assert found.cases[1].shift is None, "the same bytes need no test"


def test_what_matters_is_declared(judge: Judge) -> None:
    new = [each + 0.0001 for each in TEN]
    assert over_seeds(judge, TEN, new).change == "cannot tell"
    found = over_seeds(judge, TEN, new, interest=0.2)
    assert found.change == "same figures"
    assert not [said for said in chance(found.cases[0]) if "cannot tell" in said]


def test_why_nobody_can_tell_is_said(judge: Judge) -> None:
    few, wide = over_seeds(judge, TEN[:3], TEN[3:6]), over_seeds(judge, TEN, [1.01 * each for each in TEN])
    assert any("3 against 3 seeds" in said and "p 0.1," in said for said in chance(few.cases[0]))
    assert any(
        "cannot tell, because p cannot be below 0.1 with so few figures" in said for said in chance(few.cases[0])
    )
    assert few.cases[0].shift
    assert few.cases[0].shift.detectable is None
    detectable = wide.cases[0].shift.detectable if wide.cases[0].shift else None
    assert detectable is not None
    assert 0.02 < detectable < 0.1
    assert any(f"only a change of about {100 * detectable:.2g} % would show" in said for said in chance(wide.cases[0]))
    answer = Answer((few, wide))
    assert (answer.exit_code, answer.plain()["counts"]["cannot tell"]) == (0, 2)
    assert ET.fromstring(answer.junit()).get("skipped") == "2"


def test_all_tests_of_a_run_are_corrected_for_one_another(judge: Judge) -> None:
    """4 against 4 reach p 0.029 by themselves, of two tests 0.057; what can show nothing does not count."""
    declaration = CLAIM.format(size="1 MB").replace(
        'Arm("twice", Reported(2, "it says so"), relative_to="only")', 'Arm("b"), Arm("few")'
    )
    low, high = [1.00, 1.01, 1.02, 1.03], [1.05, 1.06, 1.07, 1.08]

    def change(b: Sequence[float]) -> ClaimChange:
        sides: dict[str, dict[str, Sequence[float]]] = {
            "k1": {"only": low, "b": low, "few": low[:3]},
            "k2": {"only": high, "b": b, "few": high[:3]},
        }
        judged = []
        for kernel, side in sides.items():
            outputs = {arm: [in_real_time(each, kernel) for each in seconds] for arm, seconds in side.items()}
            judged.append(judge(declaration, outputs, kernel, "real"))
        (found,) = compare([judged[0]], [judged[1]])
        return found

    found = change(low)
    only, _, few = found.cases
    assert only.shift
    assert few.shift
    assert only.shift.test.p == pytest.approx(2 / 70)
    assert only.shift.p == pytest.approx(4 / 70)
    assert (only.change, few.shift.p, few.change) == ("cannot tell", None, "cannot tell")
    assert (summary.tests([found]).tested, summary.tests([found]).too_few) == (2, 1)
    said = Answer((found,)).plain()
    assert said["tests"] == {"tested": 2, "too_few": 1, "level": 0.05, "correction": "Holm"}
    assert said["claims"][0]["cases"][0]["shift"]["p_corrected"] == pytest.approx(4 / 70)
    suite = ET.fromstring(Answer((found,)).junit())
    assert "2 figures tested, corrected for one another (Holm); too few repeats for 1 of them" in suite.findtext(
        "system-out", ""
    )


def ten(kernel: str) -> dict[str, list[dict[str, bytes]]]:
    """Ten repeats on a kernel: the same figures on each, in other bytes."""
    return {
        "only": [in_real_time(each, kernel) for each in TEN],
        "twice": [in_real_time(2 * each, kernel) for each in TEN],
    }


def test_kernels_that_ran_at_different_times_are_said_to(judge: Judge) -> None:
    declaration = CLAIM.format(size="1 MB")
    base, same, later = (
        judge(declaration, ten(kernel), kernel, "real", batch)
        for kernel, batch in (("k1", "a"), ("k2", "a"), ("k3", "b"))
    )
    for new, apart in ((same, False), (later, True)):
        (found,) = compare([base], [new])
        assert [case.is_apart for case in found.cases] == [apart] * 2
        assert any("ran at different times" in said for said in chance(found.cases[0])) is apart


def test_how_many_repeats_count_is_said(judge: Judge) -> None:
    """A ratio needs both of its pair."""
    declaration = CLAIM.format(size="1 MB")
    odd = [*ten("k2")["only"][:8], *[netcat(9.0) | {FIDELITY: spoilt()}] * 2]
    base = judge(declaration, ten("k1"), "k1", "real")
    new = judge(declaration, {**ten("k2"), "only": odd}, "k2", "real")
    (found,) = compare([base], [new])
    only, twice = found.cases
    assert only.shift
    assert twice.shift
    assert (only.shift.sizes, twice.shift.sizes) == ((10, 8), (10, 8))
    assert "8 of 10 repeats count on the new kernel" in list(chance(only))
    plain = only.plain()["intervals"]["new"]
    assert (plain["valid"], plain["repeats"]) == (8, 10)
