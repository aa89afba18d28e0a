"""A worker with other code of the lab is refused: the hash covers all code that it runs."""

from __future__ import annotations

import pytest

from lab.ext.cluster.worker_tasks import LAYERS
from lab.spec.shipped import PACKAGE


@pytest.mark.parametrize("folder", LAYERS)
def test_the_code_of_a_worker_is_where_its_hash_looks(folder: str) -> None:
    assert [*(PACKAGE / folder).rglob("*.py")]


def test_the_hash_covers_what_a_worker_runs() -> None:
    covered = [PACKAGE / folder for folder in LAYERS]
    for module in ("machine/kernel/guest.py", "base/archive", "ext/cluster/worker_tasks.py", "runner/guest.py"):
        assert any((PACKAGE / module).is_relative_to(folder) for folder in covered)
