"""The page says of planted defects what the tests hold."""

from __future__ import annotations

from tests.mutation.defects import DEFECTS
from tests.mutation.planting import ROOT
from tests.mutation.table import rows


def test_the_page_has_the_table_of_defects() -> None:
    assert "\n".join(rows()) in (ROOT / "docs" / "evidence.md").read_text()


def test_each_family_has_a_quick_defect_but_kernels_which_have_captures() -> None:
    assert {each.family for each in DEFECTS if each.quick} == {each.family for each in DEFECTS} - {"kernels"}


def test_each_defect_can_be_planted_where_it_says() -> None:
    """Else it would be found only by the half an hour that plants them all."""
    edits = [edit for each in DEFECTS for edit in each.edits]
    assert [edit for edit in edits if (ROOT / edit.file).read_text().count(edit.was) != 1] == []
