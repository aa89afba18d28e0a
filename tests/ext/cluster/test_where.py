"""Workers that are started by the recipe are as lean as those that the lab starts."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import pytest

from lab.ext.cluster import where
from tests.ext.cluster.conftest import LEAN
from tests.ext.cluster.test_cluster import listening


def test_the_recipe_says_what_the_lab_says_to_its_own_workers() -> None:
    import dask

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
    import dask
    from distributed.config import config

    return {name: dask.config.get(name, config=config) for name in where.LEAN}


def test_a_local_cluster_has_no_port_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with where.connected("local:2") as client:
        assert len(client.scheduler_info()["workers"]) == 2
        assert {each["host"] for each in client.scheduler_info()["workers"].values()} != set()
        assert listening(os.getpid()) == set()
    assert list(tmp_path.iterdir()) == []


def test_whatever_a_closed_client_raises_means_that_the_scheduler_is_gone() -> None:
    with where.connected("local:1") as client:
        future = client.submit(sum, (1, 2))
        with pytest.raises(ZeroDivisionError), where.reached(client):
            raise ZeroDivisionError
        client.close()
        for call in (lambda: client.cancel([future]), lambda: client.submit(sum, (1, 2)), client.nthreads):
            with pytest.raises(where.SchedulerGone), where.reached(client):
                call()
