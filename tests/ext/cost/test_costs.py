"""A cost: its figures, what a comparison finds, and how people and programs see it."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from lab.cli import main
from lab.errors import InputError, MachineError
from lab.ext.cost import api, areas, display, page
from lab.ext.cost.areas import area
from lab.ext.cost.costs import FunctionChange, KernelCost
from lab.ext.pagecheck import inspection
from lab.ext.pagecheck.browser import _PROGRAMS, browser
from tests.ext.cost.costing import FUNCTIONS, cost, counts
from tests.terminal import printed

PLAIN = {"7.2": (counts(1), counts(2))}
PLANTED = {"7.2": PLAIN["7.2"], "7.3": (counts(1, tcp_ack=80_000), counts(2, tcp_ack=80_000))}


def text(found: KernelCost) -> str:
    return printed(display.shown(found))


def test_a_figure_is_the_kernels_instructions_over_the_units() -> None:
    (case,) = cost(PLAIN).cases
    figure = case.per("7.2", "message")
    assert figure is not None
    assert (figure.low, figure.high) == ((200_000 + 50) / 10, (200_000 + 100) / 10)
    assert figure.mean == pytest.approx(20_007.5)
    assert figure.scatter == pytest.approx(2.5 / 20_007.5)
    assert case.per("7.2", "connection") is None, "no connection was counted"
    assert case.unit == "message"


def test_a_planted_cost_is_found_and_attributed_to_its_function() -> None:
    found = cost(PLANTED)
    (case,) = found.cases
    assert found.exit_code == 1
    assert case.changes("7.2", "7.3")[0] == FunctionChange("tcp_ack", 6001.5, 8001.5)
    assert [each.by for each in case.changes("7.2", "7.3")[1:]] == [0] * len(FUNCTIONS)
    change = found.change(case, "7.3")
    assert change == pytest.approx(2000 / 20_007.5)


def test_a_function_alone_is_compared_by_its_calls() -> None:
    found = cost(PLANTED, function="tcp_ack")
    (case,) = found.cases
    figure = found.figure(case, "7.3")
    assert figure is not None
    assert figure.mean == pytest.approx(800.15)
    assert found.exit_code == 1
    other = cost(PLANTED, function="tcp_v4_rcv")
    assert other.exit_code == 0


def test_a_change_within_the_interest_is_no_change() -> None:
    assert cost(PLANTED, interest=0.2).exit_code == 0
    assert cost(PLAIN).exit_code == 0


def test_a_function_that_no_kernel_called_is_named_with_one_like_it() -> None:
    with pytest.raises(InputError, match=r"--function tcp_akc: no kernel called it.*tcp_ack"):
        cost(PLAIN, function="tcp_akc").require_function()


def test_repeats_that_differ_are_named() -> None:
    same = cost({"7.2": (counts(1), counts(1, repeat=1))})
    assert (same.unequal, same.exit_code) == ([], 0)
    assert "all repeats are equal, to the last instruction" in text(same)
    other = cost({"7.2": (counts(1), counts(1, repeat=1, more=1))})
    assert other.exit_code == 2, "a difference of repeats is no change of cost"
    assert "no answer: repeats differ" in text(other)
    assert "repeat 1 took 500,051 instructions, and repeat 0 took 500,050" in other.unequal[0]
    assert "All repeats are equal, to the last instruction." in page.render(same)
    assert "No answer: repeats differ" in page.render(other)
    assert "repeat 1 took 500,051 instructions" in page.render(other)


def test_a_kernel_without_counts_has_its_reason() -> None:
    found = cost({}, {"7.2": "the trial is invalid: a wire was wrong"})
    assert "nodelay, kernel 7.2: the trial is invalid" in text(found)
    assert found.exit_code == 2
    assert "no answer for 7.2" in text(found)
    assert found.plain()["cases"][0]["kernels"]["7.2"] == {"missing": "the trial is invalid: a wire was wrong"}
    assert "a wire was wrong" in page.render(found)
    assert "No answer for 7.2-Mine." in page.render(cost({}, {"7.2-Mine": "the guest did not boot"}))


def test_a_kernel_that_did_not_boot_is_no_answer() -> None:
    found = cost(PLAIN, {"7.3": "the guest did not boot"})
    assert (found.outcome, found.exit_code) == ("open", 2)
    assert "no answer for 7.3" in text(found)
    assert "no cost changed" not in text(found)


HZ = "a distribution's kernel has no variant with HZ 250: --on uml has"


def with_skipped(found: KernelCost) -> KernelCost:
    more = [case for arm in ("hz-250 10 us", "hz-250 20 us") for case in cost({}, arm=arm, skipped=HZ).cases]
    return replace(found, cases=(*found.cases, *more))


def test_an_arm_that_no_distribution_kernel_can_run_is_no_missing_figure() -> None:
    """Otherwise a claim with such an arm never says that nothing changed, and `git bisect` finds no good commit."""
    same = with_skipped(cost({"7.2": PLAIN["7.2"], "7.3": PLAIN["7.2"]}))
    assert (same.outcome, same.exit_code) == ("same", 0)
    assert "no cost changed" in text(same)
    for said in (
        " ".join(text(same).split()),
        page.render(same).replace("\N{NO-BREAK SPACE}", " ").replace("µs", "us"),
    ):
        assert said.count("HZ 250") == 1, "one line has all arms with the same reason"
        assert "hz-250 10 us, hz-250 20 us: a distribution" in said
    assert same.plain()["cases"][1]["skipped"] == HZ
    assert with_skipped(cost(PLANTED)).exit_code == 1


def test_a_claim_that_no_distribution_kernel_can_run_is_no_answer() -> None:
    found = with_skipped(cost({}, {"7.2": "the guest did not boot"}))
    found = replace(found, cases=found.cases[1:])
    assert (found.outcome, found.exit_code) == ("open", 2)
    assert "no answer: no distribution kernel can run this" in text(found)
    assert "system call" not in text(found), "a table without rows"
    assert "<table" not in page.render(found)


def test_a_kernel_between_two_others_has_its_functions_in_the_tables() -> None:
    """So a reader sees from which kernel to which a function changed."""
    found = cost({"6.1": PLAIN["7.2"], "6.12": PLANTED["7.3"], "7.2": PLANTED["7.3"]})
    line = next(line for line in text(found).splitlines() if line.lstrip().startswith("tcp_ack "))
    assert line.split() == ["tcp_ack", "6,002", "8,002", "8,002", "+2,000"]
    row = page.render(found).partition("<code>tcp_ack</code>")[2].partition("</tr>")[0]
    assert re.findall(r">([\d,+]+)<", row) == ["6,002", "8,002", "8,002", "+2,000"]
    more = text(cost(dict.fromkeys(("6.1", "6.6", "6.12", "7.2"), PLAIN["7.2"])))
    assert re.search(r"per message +6\.1 +7\.2 +change", more), "four kernels leave no room for names"


def test_a_busy_cpu_is_named() -> None:
    """The counts are right, but another CPU would have carried different traffic."""
    whole = (counts(1).kernel + counts(1).user) / 1e9
    busy, idle, full = (tuple(replace(counts(1), seconds=whole / share) for _ in "1") for share in (0.987, 0.4, 1.0))
    one, both = cost({"6.1": busy, "7.2": idle}), cost({"6.1": busy, "7.2": full})
    for found, said in (
        (one, "nodelay: the guest's CPU was busy for 99 % of the time on 6.1, so it limited the traffic"),
        (both, "nodelay: the guest's CPU was busy for 99 to 100 % of the time, so it limited the traffic"),
    ):
        assert said in " ".join(text(found).split())
        assert said in page.render(found).replace("\N{NO-BREAK SPACE}", " ")
    assert "busy" not in text(cost({"6.1": idle, "7.2": idle}))
    assert one.plain()["cases"][0]["kernels"]["6.1"]["trials"][0]["busy"] == 0.987


def test_a_function_that_one_kernel_did_not_call_is_no_answer() -> None:
    renamed = tuple(
        replace(each, functions={name: of for name, of in each.functions.items() if name != "tcp_ack"})
        for each in PLAIN["7.2"]
    )
    for of in ({"7.2": PLAIN["7.2"], "7.3": renamed}, {"7.3": renamed, "7.2": PLAIN["7.2"]}):
        found = cost(of, function="tcp_ack")
        assert found.exit_code == 2
        assert "nodelay, kernel 7.3: tcp_ack was not called" in text(found)
        assert "no answer for 7.3" in text(found)
        assert "tcp_ack was not called" in page.render(found)
        assert found.plain()["cases"][0]["without"] == {"7.3": "tcp_ack was not called"}
    both = cost({"7.2": PLAIN["7.2"], "7.3": PLAIN["7.2"]}, function="tcp_ack")
    uncalled = replace(both, cases=(*both.cases, *cost({"7.2": renamed, "7.3": renamed}, arm="cork").cases))
    assert uncalled.exit_code == 0, "no kernel calls it in the second case"


def test_a_change_counts_beside_a_case_without_a_figure() -> None:
    found = cost(PLANTED)
    more = replace(found, cases=(*found.cases, *cost(PLAIN, {"7.3": "the guest did not boot"}, arm="cork").cases))
    assert more.exit_code == 1


def test_only_a_change_with_every_seed_counts() -> None:
    base = (counts(1, tcp_ack=60_000), counts(2, tcp_ack=90_000))
    scattered = cost({"7.2": base, "7.3": (counts(1, tcp_ack=80_000), counts(2, tcp_ack=85_000))})
    change = scattered.change(scattered.cases[0], "7.3")
    assert change is not None
    assert change > 0.03
    assert scattered.exit_code == 0, "the second seed costs less"
    assert "no cost changed by more than 0.5 % with each seed" in text(scattered)
    slight = cost({"7.2": base, "7.3": (counts(1, tcp_ack=62_000), counts(2, tcp_ack=92_000))})
    assert slight.exit_code == 1, "every seed costs 1 % more, and the seeds differ by 15 %"
    assert slight.plain()["cases"][0]["changes"]["7.3"] == pytest.approx({"1": 2000 / 200_050, "2": 2000 / 230_100})


def test_the_end_names_the_kernels_on_which_a_cost_changed() -> None:
    found = cost({"6.1": PLAIN["7.2"], "6.12": PLAIN["7.2"], "7.2": PLANTED["7.3"]})
    assert text(found).splitlines()[-1] == "a cost changed on 7.2"
    assert "A cost changed on 7.2." in page.render(found)
    both = cost({"6.1": PLAIN["7.2"], "6.12": PLANTED["7.3"], "7.2": PLANTED["7.3"]})
    assert text(both).splitlines()[-1] == "a cost changed on 6.12 and 7.2"


def test_the_end_says_that_one_seed_does_not_show_the_reason_of_a_change() -> None:
    """A change of the code also moves packets and timers, which then cost more or less."""
    said = "a cost changed on 7.3; one seed does not show whether the code costs more, or packets moved"
    assert " ".join(text(cost({name: of[:1] for name, of in PLANTED.items()})).split()).endswith(said)
    assert "one seed" not in text(cost(PLANTED))
    assert "one seed" not in text(cost(dict.fromkeys(("7.2", "7.3"), PLAIN["7.2"][:1])))


def test_plain_data_is_json_and_names_what_changed() -> None:
    plain = json.loads(json.dumps(cost(PLANTED, function="tcp_ack").plain()))
    (case,) = plain["cases"]
    assert case["change"]["7.3"] == pytest.approx(200 / 600.15)
    assert case["kernels"]["7.3"]["functions"]["tcp_ack"] == 8001.5
    assert [each["seed"] for each in case["kernels"]["7.2"]["trials"]] == [1, 2]


@pytest.mark.parametrize(
    "found", [cost(PLAIN), cost(PLANTED, function="tcp_ack"), cost({**PLANTED, "6.1": PLAIN["7.2"]})]
)
def test_text_fits_a_terminal(found: KernelCost) -> None:
    assert max(map(len, text(found).splitlines())) <= 80
    assert "tcp_ack" in text(found)


def test_two_images_of_one_release_leave_room_for_the_figures() -> None:
    """`git bisect` compares such images, and their names are long."""
    names = ("7.2.13+deb14-amd64 00aeb5", "7.2.13+deb14-amd64 4e3e83")
    lines = text(cost(dict(zip(names, PLANTED.values(), strict=True)), function="tcp_ack")).splitlines()
    table = lines[: lines.index("")]
    assert max(map(len, lines)) <= 80
    assert any(line.startswith("nodelay ") and line.split()[-1] == "600.2" for line in table)
    assert any(line.split()[-3:] == ["800.2", "+33.33", "%"] for line in table)


def test_a_function_that_costs_the_same_is_no_change() -> None:
    same = text(cost({"7.2": PLAIN["7.2"], "7.3": PLAIN["7.2"]}))
    assert re.search(r"largest changes, per message +7\.2 +7\.3 +change\n +none *\n", same)
    between = text(cost({"6.1": PLAIN["7.2"], "6.12": PLANTED["7.3"], "7.2": PLAIN["7.2"]}))
    assert [line.split()[0] for line in between.partition("change\n")[2].splitlines() if "," in line][-1] == "tcp_ack"
    assert "tcp_v4_rcv" not in between


AREAS = [line.split(": ") for line in Path(__file__).with_name("functions.txt").read_text().splitlines()]


def test_functions_have_areas() -> None:
    """The names are those of functions of Debian's kernels."""
    assert [[area(name), name] for _, name in AREAS] == AREAS
    assert area("no_such_function") == "other"


def test_a_renamed_function_stays_in_its_area() -> None:
    """unmap_page_range() of 6.1 is __zap_vma_range() on 7.2: the areas show how much of a change is only the name."""
    renamed = tuple(
        replace(each, functions={name.removesuffix("_noprof"): of for name, of in each.functions.items()})
        for each in PLAIN["7.2"]
    )
    found = cost({"6.1": renamed, "7.2": PLAIN["7.2"]})
    (case,) = found.cases
    assert {each.name for each in case.changes("6.1", "7.2") if each.by} == {
        "kmem_cache_alloc",
        "kmem_cache_alloc_noprof",
    }
    assert case.areas("6.1") == case.areas("7.2")
    assert case.areas("7.2")["memory"] == pytest.approx(8501.5)
    areas = page.render(found).partition("<summary>The areas</summary>")[2].partition("</table>")[0]
    row = areas.partition(">memory<")[2].partition("</tr>")[0]
    assert re.findall(r">([\d,+.]+)<", row) == ["8,502", "8,502", "0"]
    assert case.plain()["kernels"]["7.2"]["areas"]["memory"] == pytest.approx(8501.5)


def test_each_beginning_of_a_name_decides_the_area_of_a_function() -> None:
    named = {of: [name for declared, name in AREAS if declared == of] for of in areas._AREAS}
    assert [
        (of, start)
        for of, starts in areas._AREAS.items()
        for start in starts.split()
        if not any(re.match(rf"_*({start})", name) for name in named[of])
    ] == [], "an earlier area has all functions with this name"


def test_the_page_colours_what_changed_and_escapes_names(tmp_path: Path) -> None:
    found = cost(PLANTED)
    page.write(found, tmp_path / "out" / "cost.html")
    written = (tmp_path / "out" / "cost.html").read_text()
    assert 'title="tcp_ack: 8,002 on 7.3, 6,002 on 7.2 (+2,000)"' in written
    assert "cell more" in written
    assert "<script>" not in page.render(cost(PLAIN, arm="<script>"))
    assert list(inspection.links(tmp_path, [tmp_path / "out" / "cost.html"])) == []


def test_a_page_of_one_kernel_has_no_colours() -> None:
    written = page.render(cost(PLAIN))
    assert "cell more" not in written
    assert "cell less" not in written


@pytest.mark.skipif(not any(map(shutil.which, _PROGRAMS)), reason="there is no Chromium here")
@pytest.mark.long
def test_the_page_fits_phones_and_desktops(tmp_path: Path) -> None:
    both = cost(PLANTED)
    page.write(replace(both, cases=(*both.cases, *cost(PLAIN, arm="cork").cases)), tmp_path / "cost.html")
    assert inspection.inspect(tmp_path, lambda _: None).problems == ()


@pytest.mark.skipif(not any(map(shutil.which, _PROGRAMS)), reason="there is no Chromium here")
@pytest.mark.long
def test_a_line_tells_if_the_flame_is_wider_than_the_screen(tmp_path: Path) -> None:
    page.write(cost(PLANTED), tmp_path / "cost.html")
    told, wide = "document.querySelector('.sideways').checkVisibility()", "document.querySelector('.scroll')"
    with browser() as screen:
        screen.resize(390)
        screen.show(tmp_path / "cost.html")
        for width in (390, 700, 740, 750, 1280):
            screen.resize(width)
            assert screen.evaluate(told) == screen.evaluate(f"{wide}.scrollWidth > {wide}.clientWidth"), width


def test_a_page_that_cannot_be_written_is_one_message(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(MachineError, match=r"cannot write .*cost\.html"):
        page.write(cost(PLAIN), tmp_path / "file" / "cost.html")


def typed(words: list[str], monkeypatch: pytest.MonkeyPatch, found: Callable[..., KernelCost]) -> int:
    monkeypatch.setattr(api, "cost", found)
    monkeypatch.setattr(sys, "argv", ["lab", "cost", "tcp-nodelay/cork", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


def test_a_page_without_a_place_is_told_before_the_trials(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file" / "cost.html", tmp_path):
        assert typed(["-o", str(place)], monkeypatch, lambda *_, **__: pytest.fail("a trial ran")) == 3
        assert f"lab: cannot write {place}" in capsys.readouterr().err


def test_the_figures_are_told_even_if_the_page_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def found(*_: object, **__: object) -> KernelCost:
        (tmp_path / "out" / "cost.html").mkdir()
        return cost(PLANTED)

    assert typed(["-o", str(tmp_path / "out" / "cost.html")], monkeypatch, found) == 3
    said = capsys.readouterr()
    assert "a cost changed" in said.out
    assert "cannot write" in said.err
