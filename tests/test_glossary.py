"""The glossary names what is there."""

import ast
import re
from pathlib import Path

from tests.trees import defined

ROOT = Path(__file__).parent.parent
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text()


def known() -> set[str]:
    """The classes, and the names of unions, of the whole lab."""
    found = (each for file in (ROOT / "lab").rglob("*.py") for each in defined(file.read_text()))
    return {name for kind, name in found if kind is not ast.AnnAssign}


def test_every_type_that_it_names_exists() -> None:
    named = set(re.findall(r"`([A-Z]\w+)(?:\.\w+)?`", GLOSSARY))
    assert len(named) > 30
    assert named - known() == set()


def test_five_minutes_are_enough() -> None:
    words = [word for word in GLOSSARY.split() if re.search(r"\w", word)]  # the lines of tables are none
    assert len(words) < 5 * 200
