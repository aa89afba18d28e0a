"""A recipe makes the userland that its lock names, also where the cache would hide a change of the recipe."""

from __future__ import annotations

from typing import get_args

import pytest

from lab.machine.userland import cache, lock, recipe
from lab.machine.userland.lock import Name
from lab.machine.userland.program import LAUNCHERS, launcher
from lab.machine.userland.recipe import UserlandRecipe


@pytest.mark.guest
def test_a_locked_userland_holds_what_its_recipe_writes() -> None:
    here = {name: cache.load(lock.locked(name).id) for name in get_args(Name)}
    assert here["guest"] is not None
    for name, userland in here.items():
        if userland is not None:
            texts = written(recipe.read(name))
            assert {path: (userland.tree / path).read_text() for path in texts} == texts, name


def written(made: UserlandRecipe) -> dict[str, str]:
    """Return the files whose text is the recipe's own, by path."""
    launched = {**{command: f"usr/bin/{command}" for command in made.commands}, **made.launchers}
    launchers = {f"{LAUNCHERS}/{name}": launcher(*program.split(" ", 1)) for name, program in launched.items()}
    return {**made.files, **made.programs, **launchers}
