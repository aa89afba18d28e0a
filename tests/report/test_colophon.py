"""The index of a report names what a citation needs, from the records alone."""

from __future__ import annotations

from importlib.metadata import version

from lab.report.colophon import colophon
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


def test_a_forged_kernel_becomes_no_tag(keep: Keep) -> None:
    records = keep("header", kernel={**KERNEL, "version": "<b>}7"})
    assert "<b>" not in colophon(records)
