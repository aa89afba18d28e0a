"""What a container's profile forbids is named, call by call; where nothing is forbidden, nothing is."""

from __future__ import annotations

from lab.machine.kernel.forbidden import forbidden


def test_here_nothing_is_forbidden() -> None:
    assert forbidden() == ()
