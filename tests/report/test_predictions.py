"""What a page, a terminal and JSON say of predictions: kind, formula and source, and the law beside a simulation."""

import re
from collections.abc import Callable
from html import unescape
from pathlib import Path

import pytest

import lab
from lab.record.record import Record
from lab.report.article import Article
from lab.report.claim import Claim

Keep = Callable[..., list[Record]]

HEAD = '''"""A figure, predicted in its own way."""
from lab import Arm, Bulk, Capture, Duration, Experiment, Reported, Value, Within, definition, metric, model, simulation
'''
DECLARED = """
EXPERIMENT = Experiment(
    topology="delay-100ms", workload=Bulk(duration=Duration.of("50 ms")), probes=(Capture(node="sender"),),
    metric=metric.header_length(), prediction=predict, arms=(Arm("only", Reported("32 B", "it says so")),),
    tolerance=Within(0.1, because="it is made up"),
)
"""
OWN = {
    "defined": """
@definition(because="a header is a header")
def predict(path):
    return Value(32, "B")
""",
    "plain": """
def predict(path):
    return Value(32, "B")
""",
    "lawless": """
@simulation(of="dice", no_law="chance has no closed form")
def predict(path):
    return Value(32, "B")
""",
    "uncovered": """
@simulation(of="an abacus", law=model.tcp_header_length)
def predict(path):
    raise model.ModelError("the path is too long for it")
""",
}


@pytest.fixture
def judged(here: Path, keep: Keep, toy: Callable[[], Article]) -> Callable[[str], Claim]:
    """Judges a claim of the toy article, or one of the above, by a record of it."""

    def judge(name: str) -> Claim:
        if name in OWN:
            (here / "experiments" / "toy" / f"{name}.py").write_text(f"{HEAD}{OWN[name]}{DECLARED}")
            keep(name)
        return toy()[name]

    return judge


def read(html: str) -> str:
    """The text of a page, on one line."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", html)).split())


def facts(claim: Claim) -> dict[str, str]:
    """What stands behind each word of the section's list."""
    return {
        name: read(text) for name, text in re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", claim._repr_html_(), re.DOTALL)
    }


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("header", ["tcp_header_length , law: 20 B, and 12 B for timestamps ( RFC 9293 §3.1"]),
        (
            "sweep",
            ["any_drops , simulation: a replay of tcp_sendmsg()", "any_drops_of_window , law: 1 if min(rwnd, sndbuf)"],
        ),
        ("defined", ["predict , definition: a header is a header"]),
        ("plain", ["predict , undeclared: a function that declares neither formula nor source"]),
        ("lawless", ["predict , simulation: a replay of dice; no law: chance has no closed form"]),
    ],
)
def test_a_section_says_how_it_was_tested_and_predicted(
    judged: Callable[[str], Claim], name: str, said: list[str]
) -> None:
    found = facts(judged(name))
    assert "sender connects to receiver: duration 50 ms" in found["Tested"]
    for text in said:
        assert text in found["Predicted"]


def test_no_text_of_a_page_comes_from_a_docstring(judged: Callable[[str], Claim]) -> None:
    assert "The TCP header of a data segment" not in read(judged("header")._repr_html_())


def test_the_law_stands_beside_its_simulation(judged: Callable[[str], Claim]) -> None:
    claim = judged("sweep")
    small, _ = claim.results
    assert (small.predicted, small.law_error) == (small.law, 0)
    assert "yes law: yes" in read(claim._repr_html_())
    assert re.search(r"^only 2 +1 +1 +1 +1/1 +0 %\n  law +1 +0 %$", repr(claim), re.MULTILINE)
    assert "any_drops_of_window, law: 1 if" in repr(claim)
    plain = claim.judged.result.plain()
    assert [each["name"] for each in plain["predictions"]] == ["any_drops", "any_drops_of_window"]
    assert plain["results"][0].items() >= {"kind": "simulation", "law": 1, "law_error": 0, "why_no_law": None}.items()


def test_a_reason_stands_where_a_figure_is_missing(judged: Callable[[str], Claim]) -> None:
    claim, why = judged("uncovered"), "the path is too long for it"
    assert f"— {why} law: 32 B" in read(claim._repr_html_())
    assert f"not predicted: {why}\n" in repr(claim)
    (result,) = claim.judged.result.plain()["results"]
    assert result.items() >= {"predicted": None, "why_not_predicted": why, "law": 32, "law_error": 0}.items()
    (lawless,) = judged("lawless").judged.result.plain()["results"]
    assert lawless.items() >= {"predicted": 32, "law": None, "why_no_law": "chance has no closed form"}.items()


def test_the_documented_prediction_is_one(here: Path, keep: Keep) -> None:
    text = (Path(__file__).parents[2] / "docs" / "own-metrics.md").read_text()
    (own,) = re.findall(r"```python\n((?:(?!```).)*?@law.*?)```", text, re.DOTALL)
    declared = DECLARED.replace("prediction=predict", "prediction=goodput_of_a_megabyte")
    (here / "experiments" / "toy" / "mine.py").write_text(f"{HEAD}{own}{declared}")
    keep("mine")
    (result,) = lab.load("toy/mine", results="results")["mine"].results
    assert result.prediction
    assert (result.prediction.kind, result.prediction.source) == ("law", "RFC 6349, 3.3.1")
    assert result.predicted
    assert result.predicted.number == pytest.approx(80e6, rel=0.001)
