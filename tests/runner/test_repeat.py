"""What keeps a recorded trial from running again is said, with what makes up for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.kernel import Budget
from lab.record.store import Store
from lab.runner.repeat import repeat
from lab.userland.lock import locked
from tests.record.test_store import record
from tests.usecases.test_campaign import Stub


class Unwatched:
    """A progress that nobody looks at."""

    def started(self, *_: object) -> None: ...

    def ended(self, *_: object) -> None: ...


@pytest.mark.parametrize(
    ("userland", "cure"),
    [(locked("guest").id, "`lab userland build guest`, then again"), ("f" * 16, "the lab that made these records")],
    ids=["that this lab locks", "of another lab"],
)
def test_a_userland_that_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, userland: str, cure: str) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    kernel = Stub()
    kept = record(Store(tmp_path / "results"), kernel=kernel.describe(), userland=userland)
    (said,) = repeat([kept], tmp_path / "again", 1, Budget(), Unwatched(), given=[kernel]).values()
    assert f"userland {userland} is not here: {cure}" in str(said)
