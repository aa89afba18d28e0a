"""A process may have as many connections at once as a workload makes."""

import multiprocessing
import resource

import pytest

from lab.guest.testbed import WorkloadError
from lab.guest.workload.sockets import OTHER_FILES, make_room


def room(connections: int) -> None:
    """Start from the usual limit, in a process of its own."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    make_room(connections)
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert soft == max(256, connections + OTHER_FILES)


@pytest.mark.parametrize("connections", [1, 256 - OTHER_FILES, 1000])
def test_a_limit_is_raised_where_it_is_too_low(connections: int) -> None:
    process = multiprocessing.get_context("fork").Process(target=room, args=(connections,))
    process.start()
    process.join()
    assert process.exitcode == 0


def test_what_no_kernel_allows_is_said_in_a_line() -> None:
    with pytest.raises(WorkloadError, match="connections need as many open files"):
        make_room(1 << 40)
