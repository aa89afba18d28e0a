"""Workers that are started by the recipe are as lean as those that the lab starts."""

from __future__ import annotations

from typing import Any

import dask
from distributed.config import config

from lab.cluster import where
from tests.cluster.conftest import LEAN


def test_the_recipe_says_what_the_lab_says_to_its_own_workers() -> None:
    (recipe,) = dask.config.collect_yaml([LEAN])
    said: dict[str, Any] = {}
    with dask.config.set(where.LEAN, config=said):
        assert recipe == said


def test_the_configuration_is_as_before_afterwards() -> None:
    before = now()
    with where.lean():
        assert now() == where.LEAN
    assert now() == before != where.LEAN


def now() -> dict[str, Any]:
    return {name: dask.config.get(name, config=config) for name in where.LEAN}
