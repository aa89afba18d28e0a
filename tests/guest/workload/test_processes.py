"""A child's end is seen however many files its parent has open."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, nullcontext

import pytest

from lab.errors import LabError
from lab.guest.testbed import Child, WorkloadError, ended

SELECT = 1024  # select() knows no handle from here on


@pytest.fixture
def many_files() -> Iterator[None]:
    """As many files open as select() can tell apart, in this process."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2 * SELECT), hard))
    with ExitStack() as files:
        null = os.open(os.devnull, os.O_RDONLY)
        files.callback(os.close, null)
        while null < SELECT:
            null = os.dup(null)
            files.callback(os.close, null)
        yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.usefixtures("many_files")
def test_an_end_is_seen_by_a_handle_of_any_number() -> None:
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.read(read, 1)  # until it is told to end
        os._exit(0)
    assert not ended(child, 0.01)
    os.write(write, b".")
    assert ended(child, 60)
    os.waitpid(child, 0)
    os.close(read)
    os.close(write)


def test_a_child_may_take_longer_than_poll_can_count() -> None:
    child = os.fork()
    if not child:
        os._exit(0)
    assert ended(child, 1e9)
    os.waitpid(child, 0)


class Here:
    """Stands for the namespace that a child is in already."""

    def join(self) -> None:
        pass

    def entered(self) -> AbstractContextManager[None]:
        return nullcontext()


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (
            ConnectionResetError(104, "reset by peer"),
            "the client failed: ConnectionResetError: [Errno 104] reset by peer",
        ),
        (LabError("this kernel has no congestion control 'x'"), "this kernel has no congestion control 'x'"),
    ],
)
def test_what_ended_a_child_reaches_whoever_waits_for_it(error: Exception, told: str) -> None:
    def work() -> None:
        raise error

    with pytest.raises(WorkloadError) as raised:
        Child.fork(Here(), work).wait("the client", 60)
    assert str(raised.value) == told
