"""A topology from its text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from lab.spec.errors import SpecError
from lab.spec.topology import Topology, parse

Parse = Callable[[str], Topology]


@pytest.fixture
def topology() -> Parse:
    return lambda text: parse(text, Path("net.yaml"))


@pytest.fixture
def mistakes() -> Callable[[str], list[str]]:
    """What is said about a wrong topology, as 'line: message'."""

    def said(text: str) -> list[str]:
        with pytest.raises(SpecError) as caught:
            parse(text, Path("net.yaml"))
        assert {Path(problem.file).name for problem in caught.value.problems} == {"net.yaml"}
        return [f"{problem.line}: {problem.message}" for problem in caught.value.problems]

    return said
