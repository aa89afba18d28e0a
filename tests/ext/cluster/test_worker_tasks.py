"""A worker with other code of the lab is refused: the hash covers all code that it runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.spec.shipped import PACKAGE


@pytest.fixture
def covered() -> list[Path]:
    """The folders that the hash covers."""
    from lab.ext.cluster.worker_tasks import LAYERS  # imports Dask, which few tests need

    return [PACKAGE / folder for folder in LAYERS]


def test_the_code_of_a_worker_is_where_its_hash_looks(covered: list[Path]) -> None:
    assert [folder for folder in covered if not [*folder.rglob("*.py")]] == []


def test_the_hash_covers_what_a_worker_runs(covered: list[Path]) -> None:
    for module in ("machine/kernel/guest.py", "base/archive", "ext/cluster/worker_tasks.py", "runner/guest.py"):
        assert any((PACKAGE / module).is_relative_to(folder) for folder in covered)
