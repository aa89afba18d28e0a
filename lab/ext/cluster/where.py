"""Find or start the Dask cluster that `lab run --cluster` names."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from lab.base.owner import private
from lab.errors import InputError, LabError, MachineError
from lab.machine.kernel import SCRATCH_PREFIX

if TYPE_CHECKING:
    from distributed import Client

FORMS = "local:N, tcp://HOST:PORT, tls://HOST:PORT, slurm, slurm:N, or a scheduler file"
LEAN = {  # recipes/dask.yaml has the same for workers elsewhere
    "distributed.admin.low-level-log-length": 0,  # otherwise 1,000 messages are kept, and one may hold many trials
    "distributed.admin.tick.interval": "1s",  # otherwise it checks 50 times a second whether it is late
    "distributed.worker.profile.enabled": False,  # otherwise it looks at every thread 100 times a second
}
_LOGGERS = ("distributed", "distributed.client")  # the loggers to which Dask adds handlers
_SECONDS = 20.0  # for a scheduler to answer
_CORE_GIBIBYTES = 2  # per core of a batch job, unless Dask's configuration has a value


class SchedulerGone(MachineError):
    """Raised if the cluster's scheduler no longer answers."""

    def __init__(self) -> None:
        super().__init__("the cluster's scheduler is gone: finished trials are kept; run again to continue")


def lost(client: Client) -> bool:
    """Return whether Dask has given up the scheduler."""
    return client.status not in ("running", "connecting")


@contextmanager
def reached(client: Client) -> Iterator[None]:
    """Raise SchedulerGone in place of the many exceptions of Dask's calls after the loss of the scheduler."""
    try:
        yield
    except LabError:
        raise
    except Exception:
        if lost(client):
            raise SchedulerGone from None
        raise


def address(client: Client) -> str:
    """Return the address at which workers find the scheduler."""
    return str(client.scheduler.address) if client.scheduler else "?"


@contextmanager
def connected(where: str | Client) -> Iterator[Client]:
    """Yield a client for the cluster. Everything that was started for the client is ended afterwards.

    A client that the caller passes stays open. Raises InputError if `where` names no cluster, and MachineError if Dask
    is missing or no scheduler answers.
    """
    try:
        from distributed import Client
    except ImportError:
        raise MachineError("--cluster needs Dask; run `pip install 'replab[cluster]'`") from None
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
            raise InputError(f"--cluster {where} is unknown; use {FORMS}")
        yield client


@contextmanager
def lean() -> Iterator[None]:
    """Turn off Dask's developer aids within this context, because they take memory and CPU time from guests."""
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
    """Start workers here, each with one thread, so that each worker uses one core at a time.

    No other process can connect to their ports. The workers are threads of this process. The guest that uses the core
    is a separate process.
    """
    import dask
    from distributed import Scheduler, SpecCluster, Worker

    class Quiet:
        def start_http_server(self, *_: object, **__: object) -> None:
            """Do nothing: serve no pages, because a loopback port is open to all users of this machine."""

    class QuietScheduler(Quiet, Scheduler):
        """Schedules tasks without serving pages."""

    class QuietWorker(Quiet, Worker):
        """Runs tasks without serving pages."""

    scratch = stack.enter_context(private(Path(tempfile.gettempdir()), SCRATCH_PREFIX))
    stack.enter_context(dask.config.set({"temporary-directory": str(scratch)}))
    inside = {"protocol": "inproc://", "dashboard": False}
    worker = {"cls": QuietWorker, "options": {**inside, "nthreads": 1, "memory_limit": 0}}  # guests need the memory
    cluster = SpecCluster(
        workers=dict.fromkeys(range(count), worker),
        scheduler={"cls": QuietScheduler, "options": inside},
        silence_logs=logging.CRITICAL,
    )
    return stack.enter_context(cluster)


def _slurm(stack: ExitStack, count: int) -> object:
    """Request jobs from Slurm, with one worker each. Dask's own configuration sets the partition, time and cores."""
    import dask

    try:
        from dask_jobqueue.slurm import SLURMCluster
    except ImportError:
        raise MachineError("--cluster slurm needs dask-jobqueue; run `pip install 'replab[cluster]'`") from None
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
        raise InputError(f"--cluster {where} does not give the number of workers; add it, such as local:2 or slurm:2")
    return int(text)


@contextmanager
def _hushed() -> Iterator[None]:
    """Hide Dask's log, because the lab's own messages show the important parts."""
    handlers = [each for name in _LOGGERS for each in logging.getLogger(name).handlers]
    before = [each.level for each in handlers]
    for each in handlers:
        each.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for each, level in zip(handlers, before, strict=True):
            each.setLevel(level)
