"""The index of a report names what a citation needs, from the records alone."""

from __future__ import annotations

from importlib.metadata import version

from lab.record.record import Record
from lab.report.colophon import colophon, imprint
from tests.report.conftest import KERNEL, Keep


def test_it_names_version_kernel_and_days(keep: Keep) -> None:
    records = keep("header")
    shown = colophon(records)
    assert f"replab {version('replab')}" in shown
    assert f"Linux {KERNEL['version']}" in shown
    assert "<dt>Run</dt><dd>date unknown</dd>" in shown, "these records were not made by a run"
    assert shown.count("@software{replab,") == 1
    assert colophon(records) == shown


def test_without_records_there_is_nothing_to_cite() -> None:
    assert colophon([]) == ""
    assert imprint([], "#cite", "#claims") == ""


def test_a_page_starts_with_kernel_day_version_and_a_way_to_cite(keep: Keep) -> None:
    line = imprint(keep("header"), "index.html#cite", "#packets")
    assert f"Linux {KERNEL['version']} · run date unknown · replab {version('replab')}" in line
    assert '<a href="index.html#cite">Cite</a>' in line
    assert '<a href="#packets">Packets</a>' in line
    assert "<a" not in imprint(keep("header"), "", "")


def test_the_year_is_that_of_the_last_run(keep: Keep) -> None:
    records = keep("header")
    assert "year = " not in colophon(records), "these records were not made by a run"
    assert "year = {2031}" in colophon([Dated(records[0].folder)])


class Dated(Record):
    """A record of a run on the last day of a year."""

    started = "2031-12-31T23:00:00Z"


def test_a_forged_kernel_becomes_no_tag(keep: Keep) -> None:
    records = keep("header", kernel={**KERNEL, "version": "<b>}7"})
    assert "<b>" not in colophon(records) + imprint(records, "", "")
