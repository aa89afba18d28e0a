"""`lab run --seeds`: which verdicts depend on the seed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.app.seeding import SeededClaim, Seeds, parse
from lab.cli.seeding import render
from lab.errors import InputError
from lab.machine.kernel import UmlKernel
from lab.report import text
from lab.report.wording import ranges
from lab.verdict import ClaimResult, Kind, Verdict

LAB = Path(sys.executable).with_name("lab")


def judged(kind: Kind, passed: bool) -> Any:
    result = ClaimResult("a/b", Verdict(kind, ""), "7.2", "virtual", ())
    return SimpleNamespace(result=result, passed=passed)


def found(*kinds: Kind, expected: Kind = "reproduced") -> Seeds:
    """A claim that was judged so with seeds from 1 on."""
    claim = SeededClaim("a/b", {seed: judged(kind, kind == expected) for seed, kind in enumerate(kinds, 1)})
    return Seeds(tuple(range(1, len(kinds) + 1)), (claim,), ())


def test_a_verdict_that_depends_is_said_with_its_seeds() -> None:
    seeds = found("reproduced", "reproduced", "not reproduced", "reproduced", "inconclusive")
    shown = text.plain(render(seeds))
    assert [line.split("  ")[0] for line in shown.splitlines()[:2]] == ["claim", "a/b"]
    for line in ("reproduced      1-2, 4", "not reproduced  3", "inconclusive    5"):
        assert line in shown
    assert "1 claim with 5 seeds: the verdict depends on the seed in a/b" in shown
    plain = seeds.plain()
    assert plain["seeds"] == [1, 2, 3, 4, 5]
    (claim,) = plain["claims"]
    assert (claim["depends"], claim["verdicts"]["not reproduced"]) == (True, (3,))
    assert [run["seed"] for run in claim["runs"]] == [1, 2, 3, 4, 5]
    assert seeds.exit_code == 1


def test_a_claim_that_declares_what_other_seeds_give_is_as_expected() -> None:
    claim = SeededClaim("a/b", {1: judged("reproduced", passed=True), 2: judged("inconclusive", passed=True)})
    seeds = Seeds((1, 2), (claim,), ())
    assert seeds.exit_code == 0
    assert "the verdict depends on the seed in a/b (as declared)" in text.plain(render(seeds))


@pytest.mark.parametrize(
    ("kinds", "code"),
    [(("reproduced",) * 3, 0), (("not reproduced",) * 3, 1), (("reproduced", "skipped"), 3)],
)
def test_the_exit_code_is_that_of_every_seed(kinds: tuple[Kind, ...], code: int) -> None:
    assert found(*kinds).exit_code == code
    if len(set(kinds)) == 1:
        assert "no verdict depends on the seed" in text.plain(render(found(*kinds)))


@pytest.mark.parametrize("kinds", [("invalid", "invalid"), ("reproduced", "skipped")])
def test_a_claim_without_a_verdict_does_not_tell_whether_the_seed_decides(kinds: tuple[Kind, ...]) -> None:
    shown = " ".join(text.plain(render(found(*kinds))).split())
    assert "1 claim with 2 seeds: cannot tell for 1 claim, which lacks a verdict; `lab run CLAIM` shows why" in shown
    assert "depends" not in shown
    assert not found(*kinds).depending


@pytest.mark.parametrize(
    ("given_text", "first", "seeds"),
    [("3", 1, (1, 2, 3)), ("2", 7, (7, 8)), ("1-5", 9, (1, 2, 3, 4, 5)), ("4-4", 1, (4,))],
)
def test_seeds_are_counted_or_named(given_text: str, first: int, seeds: tuple[int, ...]) -> None:
    assert parse(given_text, first) == seeds


@pytest.mark.parametrize("wrong", ["", "0", "x", "5-1", "0-3", "-3", "1-", "1.5"])
def test_what_names_no_seeds_is_refused(wrong: str) -> None:
    with pytest.raises(InputError, match="--seeds"):
        parse(wrong, 1)


@given(st.sets(st.integers(1, 40), min_size=1))
def test_ranges_name_every_seed_once(seeds: set[int]) -> None:
    named: list[int] = []
    for part in ranges(sorted(seeds)).split(", "):
        first, _, last = part.partition("-")
        named += range(int(first), int(last or first) + 1)
    assert named == sorted(seeds)


LOSSY = '''"""A claim of chance: no more than so much gets through."""

from lab import Arm, AtMost, Bulk, Duration, Experiment, Reported, metric

EXPERIMENT = Experiment(
    topology="lossy",
    workload=Bulk(duration=Duration.of("300 ms")),
    metric=metric.bulk_goodput(),
    samples=2,
    few_samples="it is a test",
    arms=(Arm("only", Reported("10 Gbit/s", "it says so")),),
    tolerance=AtMost(because="it is a test"),
)
'''


@pytest.mark.guest
def test_every_seed_has_samples_of_its_own(kernel: UmlKernel, tmp_path: Path) -> None:
    (tmp_path / "claim.py").write_text(LOSSY)
    argv = [str(LAB), "run", "claim.py", "--kernel", kernel.id, "--seeds", "2-3", "--json"]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    (claim,) = json.loads(done.stdout)["claims"]
    assert (claim["depends"], claim["verdicts"]) == (False, {"reproduced": [2, 3]})
    results = [run["results"][0] for run in claim["runs"]]
    assert [(each["valid"], each["repeats"]) for each in results] == [(2, 2), (2, 2)]
    trials = [json.loads(path.read_text())["seed"] for path in (tmp_path / "results").glob("??/*/trial.json")]
    assert sorted(trials) == [3, 4, 5, 6], "two samples for each seed: no trial is in two verdicts"
    assert results[0]["measured"] != results[1]["measured"]
