"""The memory that kernels have in common is laid out as their patch says."""

from __future__ import annotations

import os
import re

import pytest

from lab.errors import InputError
from lab.machine.kernel import peers
from lab.machine.kernel.peers import SHARED, Peers

PATCH = SHARED.patches[0].read_text()


def defined(name: str) -> int:
    """The number that the patch gives a macro."""
    found = re.search(rf"^\+#define {name} (\w+?)(?:ULL)?$", PATCH, re.MULTILINE)
    assert found, name
    return int(found.group(1), 0)


def test_the_constants_are_the_kernels() -> None:
    assert defined("PEERS_MAGIC") == peers.MAGIC
    assert (defined("PEERS_MAX"), defined("PEERS_LINKS")) == (peers.GUESTS, peers.LINKS)
    assert defined("PEERS_PAGE") == peers.PAGE


def test_the_head_fits_its_page_and_each_end_has_room() -> None:
    with Peers(3, [(0, 1), (0, 2)]) as shared:
        memory = shared.seat(0).memory
        assert os.fstat(memory).st_size == peers.PAGE + 2 * 2 * peers.ROOM
        head = os.pread(memory, peers.PAGE, 0)
        assert shared.turns == 0
    assert int.from_bytes(head[8:12], "little") == 3
    links = head[40 + 16 * peers.GUESTS :]
    assert links[:4] == bytes([0, 0, 1, 0])
    assert links[24:28] == bytes([0, 0, 2, 0])
    assert 40 + 16 * peers.GUESTS + 24 * peers.LINKS <= peers.PAGE


def test_no_guest_can_take_the_memory_from_the_others() -> None:
    with Peers(2, [(0, 1)]) as shared, pytest.raises(PermissionError):
        os.ftruncate(shared.seat(1).memory, 0)


def test_more_than_fit_are_refused() -> None:
    with pytest.raises(InputError, match="33 kernels with 0 links: at most 32 with 64 share a clock"):
        Peers(33, [])
