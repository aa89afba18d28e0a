"""`lab userland build`: which userlands there are, and what it answers of one that is here."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from lab.cli.app import app
from lab.errors import InputError
from lab.machine.userland import cache, lock
from lab.machine.userland.cache import UserlandMissing


def test_a_userland_is_built_by_its_name() -> None:
    try:
        found = cache.find("guest")
    except UserlandMissing:
        pytest.skip("the guests' userland is not here")
    done = CliRunner().invoke(app, ["userland", "build", "guest", "--json"], catch_exceptions=False)
    assert json.loads(done.stdout) == {
        "id": found.id,
        "tree": str(found.tree),
        "packages": len(lock.locked("guest").packages),
    }


def test_a_name_without_a_lock_is_refused_with_those_that_have_one() -> None:
    with pytest.raises(InputError, match=r"unknown userland 'program'; use one of guest, programs, mininet, compiler"):
        CliRunner().invoke(app, ["userland", "build", "program"], catch_exceptions=False)
