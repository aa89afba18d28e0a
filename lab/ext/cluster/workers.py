"""Track a cluster's workers: new, admitted and lost workers, and refused workers with the reasons."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from distributed import Client, Future

from lab.errors import MachineError
from lab.ext.cluster import parts
from lab.ext.cluster import worker_tasks as pilot
from lab.ext.cluster.parts import Part
from lab.ext.cluster.remote_call import errand
from lab.ext.cluster.where import SchedulerGone, address
from lab.ext.cluster.worker_tasks import Plain
from lab.report.wording import plural
from lab.runner.progress import Display

_LOOK_SECONDS = 1.0  # between two looks at the list of workers
_LONELY_SECONDS = 10.0  # without a worker, after which a message tells the user what to do
_PIECE = 4 << 20  # bytes of an archive that are sent together


class Muster:
    """Admits workers as they arrive.

    Call `look` often, so that new workers receive missing files while other workers run trials. `places` holds the
    local paths of the parts that workers may need, and `wanted` holds the other requirements (see
    `worker_tasks.admit`).
    """

    def __init__(self, client: Client, wanted: Plain, places: Mapping[Part, Path], display: Display) -> None:
        self.admitted: dict[str, int] = {}  # address -> trials at once
        self.refused: dict[str, str] = {}  # address -> reason
        self.sharing: set[str] = set()  # workers that write into our store
        self.losses = 0  # number of admitted workers that are gone or were refused later
        self._client, self._wanted, self._display = (
            client,
            wanted | {"parts": [tuple(part) for part in places]},
            display,
        )
        self._places = places
        self._asked: dict[str, Future[Any]] = {}
        self._given: dict[str, dict[Part, Future[Any]]] = {}
        self._hosts: dict[str, str] = {}
        self._pieces: dict[Part, list[Future[Any]]] = {}  # on their way, or with a worker
        self._looked = 0.0
        self._alone_since = time.monotonic()

    @property
    def slots(self) -> int:
        """The number of trials that the admitted workers run in parallel."""
        return sum(self.admitted.values())

    def look(self) -> None:
        """Note the workers that arrived or left since the last call.

        Raises MachineError if no worker can run trials, or no worker answers.
        """
        if time.monotonic() - self._looked < _LOOK_SECONDS and self.admitted:
            self._hear()
            return
        self._looked = time.monotonic()
        present = self._present()
        for gone in [worker for worker in self.admitted if worker not in present]:
            del self.admitted[gone]
            self.losses += 1
            self._display.remark(f"{self.name(gone)} is gone: others take over its trials")
        self.refused = {worker: why for worker, why in self.refused.items() if worker in present}
        self._asked = {worker: asked for worker, asked in self._asked.items() if worker in present}
        self._given = {worker: given for worker, given in self._given.items() if worker in present}
        known = self.admitted.keys() | self.refused.keys() | self._asked.keys() | self._given.keys()
        for worker in present.keys() - known:
            self._asked[worker] = self._submit(pilot.admit, self._wanted, worker=worker)
        self._hear()
        self._judge(present)

    def refuse(self, worker: str, reason: str) -> None:
        """Give the worker no more trials, and report the reason."""
        self.losses += self.admitted.pop(worker, None) is not None
        if worker not in self.refused:
            self.refused[worker] = reason
            self._display.remark(f"{self.name(worker)} gets no trials: {reason}")

    def name(self, worker: str) -> str:
        """Return a worker's display name: its address and its host name."""
        host = self._hosts.get(worker)
        return f"worker {worker}" + (f" on {host}" if host else "")

    def _present(self) -> Mapping[str, int]:
        try:
            present: Mapping[str, int] = self._client.nthreads()
        except (OSError, TimeoutError, AttributeError):
            raise SchedulerGone from None
        return present

    def _hear(self) -> None:
        """Receive the answers that have arrived."""
        for worker, asked in [(worker, asked) for worker, asked in self._asked.items() if asked.done()]:
            del self._asked[worker]
            answer = self._answer(worker, asked)
            if answer is None:
                continue
            self._hosts[worker] = answer["host"]
            if answer["refused"]:
                self.refuse(worker, answer["refused"])
                continue
            if answer["shares"]:
                self.sharing.add(worker)
            self._given[worker] = {part: self._give(worker, part) for part in (Part(*each) for each in answer["lacks"])}
        for worker, given in [(worker, given) for worker, given in self._given.items() if _all_done(given.values())]:
            del self._given[worker]
            faults = [self._answer(worker, each) for each in given.values()]
            if None in faults:
                continue
            if reason := next((fault for fault in faults if fault), ""):
                self.refuse(worker, reason)
                continue
            self.admitted[worker] = self._client.nthreads([worker])[worker]
            self._display.remark(f"{self.name(worker)} joins" + _received(given))
        if not self._asked and not self._given:
            self._pieces.clear()  # no worker holds them any more

    def _give(self, worker: str, part: Part) -> Future[Any]:
        if part not in self._pieces:
            self._pieces[part] = self._sent(part)
        return self._submit(pilot.receive, tuple(part), self._pieces[part], worker=worker)

    def _sent(self, part: Part) -> list[Future[Any]]:
        """Send the archive of a part to the cluster.

        From there, Dask distributes it to each worker that needs the part. The archive leaves this machine only once,
        and workers pass it on. If the worker that holds the archive dies, a waiting worker gets the archive from the
        scheduler.
        """
        packed = parts.pack(part, self._places[part])
        self._display.remark(f"sending {part}: {len(packed) / 1e6:.1f} MB")
        pieces = (packed[start : start + _PIECE] for start in range(0, len(packed), _PIECE))
        return [self._client.submit(bytes, piece, pure=False, priority=1) for piece in pieces]

    def _submit(self, function: Any, *arguments: Any, worker: str) -> Future[Any]:
        return self._client.submit(errand(function), *arguments, workers=[worker], pure=False, priority=1)

    def _answer(self, worker: str, future: Future[Any]) -> Any:
        """Return a worker's answer. If the worker could not answer, refuse the worker and return None."""
        if future.status == "finished":
            return future.result()
        if future.status == "error":
            error = future.exception()
            lacking = isinstance(error, ImportError)
            self.refuse(
                worker, "it has no replab, or a different version" if lacking else f"{type(error).__name__}: {error}"
            )
        return None  # it is gone, or will come back

    def _judge(self, present: Mapping[str, int]) -> None:
        if present and len(self.refused) == len(present):
            reasons = "; ".join(f"{self.name(worker)}: {reason}" for worker, reason in self.refused.items())
            raise MachineError(f"no worker can perform these trials: {reasons}")
        if present:
            self._alone_since = time.monotonic()
        elif time.monotonic() - self._alone_since > _LONELY_SECONDS:
            self._alone_since = float("inf")
            command = f"dask worker {address(self._client)}"
            self._display.remark(f"waiting for workers; start `{command}` where they are")


def _all_done(futures: Iterable[Future[Any]]) -> bool:
    return all(future.done() for future in futures)


def _received(given: Iterable[Part]) -> str:
    counts = Counter(part.kind for part in given)
    said = [plural(count, kind) for kind, count in sorted(counts.items())]
    return f", and has got {' and '.join(said)}" if said else ""
