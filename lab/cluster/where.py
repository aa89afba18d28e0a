"""Find or start the Dask cluster that `lab run --cluster` names."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from lab.errors import InputError, MachineError

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["LEAN", "SchedulerGone", "address", "connected", "lean"]

FORMS = "local:N, tcp://HOST:PORT, tls://HOST:PORT, slurm, slurm:N, or a scheduler file"
LEAN = {  # recipes/dask.yaml says the same to workers elsewhere
    "distributed.admin.low-level-log-length": 0,  # else 1,000 messages are kept, and one may have many trials in it
    "distributed.admin.tick.interval": "1s",  # else it looks 50 times a second whether it is late
    "distributed.worker.profile.enabled": False,  # else it looks at every thread 100 times a second
}
_LOGGERS = ("distributed", "distributed.client")  # those that Dask gives handlers
_SECONDS = 20.0  # for a scheduler to answer
_CORE_GIBIBYTES = 2  # for each core of a batch job, unless Dask's configuration says otherwise


class SchedulerGone(MachineError):
    """The cluster's scheduler does not answer any more."""

    def __init__(self) -> None:
        super().__init__("the cluster's scheduler is gone: finished trials are kept, run again to go on")


def address(client: Client) -> str:
    """Return where workers find the scheduler."""
    return str(client.scheduler.address) if client.scheduler else "?"


@contextmanager
def connected(where: str | Client) -> Iterator[Client]:
    """Yield a client of the cluster; what was started for it ends afterwards. A client that is given stays open.

    Raises InputError when `where` names no cluster, MachineError when Dask is missing or no scheduler answers.
    """
    try:
        from distributed import Client
    except ImportError:
        raise MachineError("--cluster needs Dask: `pip install 'replab[cluster]'`") from None
    if isinstance(where, Client):
        yield where
        return
    with ExitStack() as stack:
        stack.enter_context(_hushed())
        stack.enter_context(lean())
        kind, _, rest = where.partition(":")
        if kind == "local":
            client = _client(stack, _local(stack, _count(where, rest)), where)
        elif kind == "slurm":
            client = _client(stack, _slurm(stack, _count(where, rest or "1")), where)
        elif kind in ("tcp", "tls"):
            client = _client(stack, where, where)
        elif Path(where).is_file():
            client = _client(stack, None, where)
        else:
            raise InputError(f"--cluster {where}: it is {FORMS}")
        yield client


@contextmanager
def lean() -> Iterator[None]:
    """Let Dask do only its work meanwhile: what it notes for its developers takes memory, and guests' cores."""
    import dask
    from distributed.config import config

    with dask.config.set(LEAN, config=config):
        yield


def _client(stack: ExitStack, cluster: object, where: str) -> Client:
    from distributed import Client

    try:
        file = where if cluster is None else None
        client = Client(cluster, scheduler_file=file, timeout=_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise MachineError(f"--cluster {where}: no scheduler answers: {error}") from None
    stack.callback(client.close, timeout=1)
    return client


def _local(stack: ExitStack, count: int) -> object:
    """Start workers here, each with one thread and so one core at a time; nobody else can reach them.

    They are threads of this process: what takes a core is a guest, a process of its own.
    """
    from distributed import LocalCluster

    cluster = LocalCluster(
        n_workers=count,
        threads_per_worker=1,
        processes=False,
        protocol="tcp://",  # Dask's own way inside of a process lets its dashboard listen to everybody
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        memory_limit=0,  # what needs memory are the guests
        silence_logs=logging.CRITICAL,
    )
    return stack.enter_context(cluster)


def _slurm(stack: ExitStack, count: int) -> object:
    """Ask Slurm for jobs, with one pilot each. Partition, time and cores are those of Dask's own configuration."""
    import dask

    try:
        from dask_jobqueue.slurm import SLURMCluster
    except ImportError:
        raise MachineError("--cluster slurm needs dask-jobqueue: `pip install 'replab[cluster]'`") from None
    cores = dask.config.get("jobqueue.slurm.cores", None) or 1
    memory = dask.config.get("jobqueue.slurm.memory", None) or f"{cores * _CORE_GIBIBYTES} GiB"
    try:
        cluster = SLURMCluster(cores=cores, memory=memory, processes=1)
        stack.enter_context(cluster)
        cluster.scale(jobs=count)
    except (OSError, RuntimeError, ValueError) as error:
        raise MachineError(f"--cluster slurm: {error}") from None
    return cluster


def _count(where: str, text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise InputError(f"--cluster {where}: say how many, as in local:2 or slurm:2")
    return int(text)


@contextmanager
def _hushed() -> Iterator[None]:
    """Keep Dask's log to itself: what matters of it is said in our words."""
    handlers = [each for name in _LOGGERS for each in logging.getLogger(name).handlers]
    before = [each.level for each in handlers]
    for each in handlers:
        each.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for each, level in zip(handlers, before, strict=True):
            each.setLevel(level)
