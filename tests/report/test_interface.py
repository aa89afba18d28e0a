"""`import lab`, as notebooks, scripts and the interpreter's prompt use it, on records that no trial made."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import lab
from lab.errors import InputError
from lab.record.record import Record
from lab.report.article import Article
from lab.report.claims import Claims
from tests.report.conftest import KERNEL, beside

Keep = Callable[..., list[Record]]


def python(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_guest_imports_nothing_of_it() -> None:
    program = "import sys, lab.guest.perform; print(*(name for name in sys.modules if name.startswith('lab.')))"
    modules = set(python(program).split())
    assert {name.split(".")[1] for name in modules} == {"errors", "guest", "units"}


@pytest.mark.parametrize("name", lab.__all__)
def test_help_says_what_it_takes(name: str) -> None:
    function = getattr(lab, name)
    assert inspect.isfunction(function)
    assert (inspect.getdoc(function) or "").splitlines()[0].endswith((".", "here."))
    assert inspect.signature(function).parameters.keys() & {"results", "claims"}


def test_help_of_run_begins_with_its_signature() -> None:
    said = python("import lab; help(lab.run)").split("\n\n")[1]
    assert said.startswith("run(*claims: 'str | Path', kernel: str | None = None, seed: int = 1,")


@pytest.mark.parametrize("call", [lab.run, lab.load])
def test_an_unknown_claim_is_one_sentence(call: Callable[..., object]) -> None:
    with pytest.raises(InputError, match=r"did you mean 'tcp-bottleneck/no-drops'"):
        call("no-drops")


def test_ipython_shows_errors_without_the_way_there() -> None:
    program = "from IPython.core.interactiveshell import InteractiveShell as Shell\n"
    program += "Shell.instance().run_cell('import lab; lab.load(\"nothing\")')"
    assert python(program).splitlines() == [
        "InputError: unknown claim, article or pack 'nothing'; `lab list` shows all of them"
    ]


@pytest.fixture(scope="module")
def claims(tmp_path_factory: pytest.TempPathFactory, toys: Path) -> Claims:
    with beside(tmp_path_factory.mktemp("claims"), toys) as results:
        return lab.load("toy", results=results)


def test_claims_are_found_by_name(claims: Claims) -> None:
    assert len(claims) == 4
    assert claims["header"] is claims["toy/header"] is next(claim for claim in claims if claim.name == "header")
    with pytest.raises(InputError, match=r"'haeder' here; did you mean 'toy/header'"):
        claims["haeder"]


def test_claims_are_filtered(claims: Claims) -> None:
    def names(found: Claims) -> list[str]:
        return [claim.name for claim in found]

    assert names(claims.filter(verdict="skipped")) == ["unrun"]
    assert names(claims.filter(verdict="not reproduced", article="toy")) == ["header"]
    assert names(claims.filter(kernel="7.2")) == ["header", "rate", "sweep"]
    assert names(claims.filter(where=lambda claim: claim.name < "i")) == ["header"]
    (claim,) = claims.filter(arm="longer")
    assert [result.arm for result in claim.results] == ["longer"]
    assert len(claim.records) == 1
    (claim,) = claims.filter(point="2")
    assert [result.point for result in claim.results] == ["2"]
    assert names(claims.filter(verdict="partly")) == [], "there are such verdicts"
    assert names(claims.filter(verdict="partly").filter(article="toy")) == [], "of nothing nothing is left"


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ({"article": "another"}, "no article is called 'another' here; use toy"),
        ({"verdict": "nope"}, "no verdict is called 'nope' here; use reproduced, partly, "),
        ({"arm": "nope"}, "no arm is called 'nope' here; use on, longer, only"),
        ({"point": "3"}, "no point is called '3' here; use 2, 5000"),
        ({"kernel": "9.9"}, "no kernel is called '9.9' here; use 7.2"),
    ],
)
def test_a_filter_of_an_unknown_name_is_refused(claims: Claims, wanted: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=f"^{said}"):
        claims.filter(**wanted)


def test_a_claim_has_no_arm_or_point_of_an_unknown_name(claims: Claims) -> None:
    with pytest.raises(InputError, match=r"^toy/header has no arm 'nope'; use on, longer$"):
        claims["header"].only(arm="nope")
    with pytest.raises(InputError, match=r"^toy/header has no point '2'; it has none$"):
        claims["header"].only(point="2")


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ({"kernel": "9.9"}, "no record is on a kernel '9.9'; use 7.2"),
        ({"clock": "nope"}, "--clock nope is unknown; use virtual or real"),
        ({"results": "/nosuch"}, "/nosuch: no such file; give a folder that `lab run` wrote, such as results"),
    ],
)
def test_what_there_is_not_cannot_be_loaded(toy: object, wanted: dict[str, str], said: str) -> None:
    toy()  # type: ignore[operator]
    with pytest.raises(InputError, match=f"^{said}$"):
        lab.load("toy", **{"results": "results", **wanted})


def test_a_capture_that_no_probe_made_is_not_to_be_run_again(toy: object) -> None:
    toy()  # type: ignore[operator]
    with pytest.raises(InputError, match=r"^toy/rate ran, but none of its probes captures packets; add Capture"):
        lab.capture("toy/rate", results="results")
    with pytest.raises(InputError, match=r"^results has no capture of toy/unrun; run `lab run toy/unrun`$"):
        lab.capture("toy/unrun", results="results")
    with pytest.raises(InputError, match=r"^toy/header has no arm 'nope'; use on, longer$"):
        lab.capture("toy/header", "nope", results="results")
    with pytest.raises(InputError, match=r"^toy is not a single claim; name one of toy/header, toy/rate"):
        lab.capture("toy", results="results")


@pytest.mark.parametrize(("wanted", "kind"), [({"kernel": "7.2"}, "not reproduced"), ({"kernel": "6.12"}, "skipped")])
def test_records_of_another_kernel_or_clock_are_asked_for(
    toy: object, keep: Callable[..., object], wanted: dict[str, str], kind: str
) -> None:
    toy()  # type: ignore[operator]
    keep("rate", kernel={**KERNEL, "name": "6.12", "version": "6.12.1", "id": "k2"})
    assert lab.load("toy", results="results", **wanted)["header"].verdict.kind == kind


def test_a_terminal_shows_text(claims: Claims) -> None:
    text = repr(claims)
    assert text.splitlines()[0] == "toy/header  not reproduced"
    assert max(map(len, text.splitlines())) <= 80
    assert "\x1b" not in text
    assert repr(claims["header"]) in text
    assert repr(claims.filter(verdict="partly")) == "no claims"


def test_a_notebook_shows_a_table(claims: Claims) -> None:
    assert claims._repr_html_() == claims.table().text
    assert '<h2 id="header" data-short="header">' in claims["header"]._repr_html_()


def test_rows_make_a_data_frame(claims: Claims) -> None:
    for column in claims.rows()[0]:
        kinds = {type(row[column]) for row in claims.rows()}
        assert len(kinds) == 1, f"{column} has values of several types, which a data frame of polars refuses: {kinds}"
    row = claims.rows()[0]
    assert (row["claim"], row["arm"], row["measured"], row["unit"]) == ("toy/header", "on", 32, "B")


@pytest.mark.long
def test_a_claim_draws_itself(claims: Claims, tmp_path: Path) -> None:
    picture = claims["header"].plot("header_lengths")
    for name, start in (("a.svg", b"<?xml"), ("a.png", b"\x89PNG")):
        picture.save(tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(start)
    assert "header_lengths" not in (text := claims["header"].plot().text)
    assert claims["header"].plot("bars", "on").text != claims["header"].plot("bars").text, "of the arms that are named"
    assert "toy.header.bars" in text, "what suits a claim without a sweep"
    assert "toy.sweep.sweep" in claims["sweep"].plot().text
    assert claims.plot("header_lengths").text.count("<figure") == 2, "as many as have a capture and no sweep"
    with pytest.raises(InputError, match="not run"):
        claims["unrun"].plot().save(tmp_path / "a.svg")
    with pytest.raises(InputError, match=r"unknown figure 'pie'; use one of .*bars, counters"):
        claims["header"].plot("pie")
    with pytest.raises(InputError, match="does not accept these arguments: too many positional arguments"):
        claims["header"].plot("header_lengths", "on")


def test_what_passes_has_the_expected_verdict_and_a_good_model(claims: Claims) -> None:
    assert claims["header"].passed
    assert not claims["unrun"].passed
    assert not claims["rate"].passed, "the qperf output at hand is not what 10 Gbit/s carry"
    assert not claims.passed


def test_a_claim_says_by_which_clocks_it_ran(here: Path, keep: Keep, toy: Callable[[], Article]) -> None:
    plain = (here / "experiments" / "toy" / "header.py").read_text()
    two = plain.replace('"it says so")),', '"it says so"), clock="real"),', 1)
    assert two != plain
    (here / "experiments" / "toy" / "both.py").write_text(two)
    keep("both")
    assert "seed 1, virtual time)" in toy()["header"]._repr_html_()
    assert "seed 1, virtual and real time)" in toy()["both"]._repr_html_()
