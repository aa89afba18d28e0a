"""The glossary names what is there."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text()


def defined() -> set[str]:
    """The classes, and the names of unions, of the whole lab."""
    names = set()
    for file in (ROOT / "lab").rglob("*.py"):
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.ClassDef):
                names.add(node.name)
            elif isinstance(node, ast.Assign):
                names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return names


def test_every_type_that_it_names_exists() -> None:
    named = set(re.findall(r"`([A-Z]\w+)(?:\.\w+)?`", GLOSSARY))
    assert len(named) > 30
    assert named - defined() == set()


def test_five_minutes_are_enough() -> None:
    words = [word for word in GLOSSARY.split() if re.search(r"\w", word)]  # the lines of tables are none
    assert len(words) < 5 * 200
