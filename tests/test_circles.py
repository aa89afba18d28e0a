"""No modules of the lab import each other in a circle: held by following every import to the file that it means."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.trees import nodes

ROOT = Path(__file__).parent.parent


def modules(root: Path) -> dict[str, Path]:
    """Dotted name -> file, of every module below `root`/lab; a package's file is its __init__.py."""
    found = {}
    for file in sorted((root / "lab").rglob("*.py")):
        parts = file.relative_to(root).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


def imported(source: str, package: list[str]) -> Iterator[str]:
    """Every dotted name that the module imports: at its top, in a function, or only for its types."""
    for node in nodes(source):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            yield from (".".join([*base, *filter(None, [node.module]), alias.name]) for alias in node.names)


def needs(known: Mapping[str, Path]) -> dict[str, set[str]]:
    """Module -> the modules that it imports. That a package is run before its modules counts as no need of theirs."""
    graph: dict[str, set[str]] = {}
    for name, file in known.items():
        package = name if file.stem == "__init__" else name.rpartition(".")[0]
        targets = set()
        for target in imported(file.read_text(), package.split(".")):
            owner = target if target in known else target.rpartition(".")[0]  # a name in a module, or the module
            if owner in known and target != "lab":  # `import lab` asks where the package is
                targets.add(owner)
        graph[name] = targets
    return graph


def circle(graph: Mapping[str, set[str]]) -> list[str]:
    """The modules of one circle in the order in which they import each other, or nothing."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(reversed(error.args[1]))
    return []


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert circle(needs(modules(ROOT))) == []


@pytest.mark.parametrize(
    "second",
    [
        "from lab.one import ONE",
        "def later():\n    from lab import one",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import lab.one",
        "from .one import ONE",
    ],
)
def test_a_circle_is_found_however_it_is_imported(tmp_path: Path, second: str) -> None:
    folder = tmp_path / "lab"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "one.py").write_text("import lab.two\nONE = 1\n")
    (folder / "two.py").write_text("TWO = 2\n")
    assert circle(needs(modules(tmp_path))) == []
    (folder / "two.py").write_text(second)
    assert set(circle(needs(modules(tmp_path)))) == {"lab.one", "lab.two"}
