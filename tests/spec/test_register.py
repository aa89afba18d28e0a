"""What counts is frozen with the article: a change without an entry in the claim's history fails here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.spec import find
from lab.spec.errors import SpecError
from lab.spec.history import Entry, Move, load
from lab.spec.loaded import LoadedExperiment
from tests.register import declared, given, moved, registered
from tests.shipped import claims

ROOT = Path(__file__).parents[2]
SHIPPED = sorted([*ROOT.glob("experiments/*/[!_]*.py"), *ROOT.glob("packs/*/experiments/*/[!_]*.py")])
HOW = "enter the change in the article's history.yaml, with moves that say what was and what is now"


def unentered(claim: LoadedExperiment, lines: dict[str, str]) -> Iterator[str]:
    """What the claim declares that neither the register nor its history has, and the other way round."""
    held = {what: given(line) for what, line in moved(lines, claim.history).items()}
    found = declared(claim)
    for what in held.keys() | found.keys():
        if held.get(what) != found.get(what):
            yield f"{claim.id}, {what}: was {held.get(what)!r}, now {found.get(what)!r}; {HOW}"


@pytest.mark.parametrize("folder", sorted({path.parent for path in SHIPPED}), ids=lambda folder: folder.name)
def test_what_counts_is_what_the_register_and_the_history_say(folder: Path) -> None:
    paths = [path for path in SHIPPED if path.parent == folder]
    lines = registered(folder)
    assert lines.keys() == {path.stem for path in paths}
    assert [
        wrong for path in paths for wrong in unentered(claims()[f"{folder.name}/{path.stem}"], lines[path.stem])
    ] == []
    assert load(folder).keys() <= lines.keys()


def test_an_argument_that_was_not_given_is_no_change() -> None:
    assert (
        given("counts; 1 B; f(flow=None, side='received', way=None); part 'x'")
        == "counts; 1 B; f(side='received'); part 'x'"
    )
    assert given("f(a=None, b=None), over that of on") == "f(), over that of on"
    assert given("f(a=None, b='x')") == "f(b='x')"


EXPERIMENT = '''"""A gigabit carries 941 Mbit/s."""
from lab import Arm, Bulk, Demonstrated, Duration, Experiment, Reported, Within, metric

EXPERIMENT = Experiment(
    topology="symmetric-1g",
    workload=Bulk(duration=Duration.of("1 s")),
    metric=metric.bulk_goodput(),
    arms=(Arm("one", Reported("941 Mbit/s", "941")), Arm("two", Reported("941 Mbit/s", "941"))),
    tolerance=Within(0.01, because="two digits"),
)
'''
CHANGES = {
    "an arm explains": (
        '"two", Reported("941 Mbit/s", "941")',
        '"two", Reported("941 Mbit/s", "941"), Demonstrated("x")',
    ),
    "a figure goes": ('Arm("two", Reported("941 Mbit/s", "941"))', 'Arm("two")'),
    "a wider tolerance": ("Within(0.01", "Within(0.1"),
    "another metric": ("metric.bulk_goodput()", "metric.iperf_goodput()"),
    "another figure": ('Reported("941 Mbit/s", "941")', 'Reported("942 Mbit/s", "942")'),
    "another reading": ("A gigabit carries 941", "A gigabit may carry 941"),
}


def loaded(folder: Path, text: str) -> LoadedExperiment:
    (folder / "claim.py").write_text(text)
    (claim,) = find.find([str(folder / "claim.py")])
    return claim


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_what_counts_needs_an_entry(tmp_path: Path, change: str) -> None:
    lines = declared(loaded(tmp_path, EXPERIMENT))
    claim = loaded(tmp_path, EXPERIMENT.replace(*CHANGES[change]))
    found = list(unentered(claim, lines))
    assert found
    assert HOW in found[0]
    moves = "".join(
        f"\n  - {{what: {what}, was: {_quoted(lines.get(what))}, now: {_quoted(now)}}}"
        for what, now in (declared(claim) | dict.fromkeys(lines.keys() - declared(claim).keys())).items()
        if lines.get(what) != now
    )
    entry = f"claim:\n- date: 2030-01-01\n  change: It changed.\n  why: A reason.\n  moves:{moves}\n"
    (tmp_path / "history.yaml").write_text(entry)
    assert list(unentered(loaded(tmp_path, EXPERIMENT.replace(*CHANGES[change])), lines)) == []


def _quoted(text: str | None) -> str:
    return "null" if text is None else '"' + text.replace('"', "'") + '"'


def test_what_decides_nothing_needs_none(tmp_path: Path) -> None:
    lines = declared(loaded(tmp_path, EXPERIMENT))
    same = EXPERIMENT.replace("two digits", "it has two digits").replace("import metric", "import metric  # ours")
    assert list(unentered(loaded(tmp_path, same), lines)) == []


def test_a_move_has_to_fit() -> None:
    entry = Entry("2030-01-01", "It changed.", "A reason.", (Move("reading", "this", "that"),))
    assert moved({"reading": "this"}, [entry]) == {"reading": "that"}
    with pytest.raises(ValueError, match="was 'other', not 'this'"):
        moved({"reading": "other"}, [entry])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("claim: 1\n", "1: claim: should be a list of changes"),
        ("claim:\n- date: 2030-01-01\n  change: so\n", "2: claim: missing: why"),
        (
            "claim:\n- {date: 2030-01-01, change: so, why: so, moved: []}\n",
            "2: claim: moved: unknown key; did you mean 'moves'?",
        ),
        ("claim:\n- {date: 2030-01-01, change: so, why: so, moves: [{was: x}]}\n", "2: claim: moves: missing: what"),
        (
            "claim:\n- {date: 2030-01-02, change: so, why: so}\n- {date: 2030-01-01, change: so, why: so}\n",
            "1: claim: the changes should be in the order of their dates",
        ),
    ],
)
def test_mistakes_in_a_history_have_their_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "history.yaml"
    path.write_text(text)
    assert [f"{problem.line}: {problem.message}" for problem in find.check([path])] == [message]
    with pytest.raises(SpecError):
        load(tmp_path)
