"""Workers that are started by the recipe are as lean as those that the lab starts."""

from __future__ import annotations

from typing import Any

import dask

from lab.cluster import where
from tests.cluster.conftest import LEAN


def test_the_recipe_says_what_the_lab_says_to_its_own_workers() -> None:
    (recipe,) = dask.config.collect_yaml([LEAN])
    said: dict[str, Any] = {}
    with dask.config.set(where.LEAN, config=said):
        assert recipe == said


def test_the_configuration_is_as_before_afterwards() -> None:
    before = {name: dask.config.get(name) for name in where.LEAN}
    with where.lean():
        assert {name: dask.config.get(name) for name in where.LEAN} == where.LEAN
    assert {name: dask.config.get(name) for name in where.LEAN} == before != where.LEAN
