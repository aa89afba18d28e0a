"""Run a network whose hosts have kernels of their own: one guest for each of these, and one for all else."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from lab.errors import LabError
from lab.kernel import Budget, Guest, GuestError, GuestResult, Kernel, scratch_guest_folder
from lab.kernel.peers import Peers
from lab.kernel.root import Root
from lab.runner.part import Command, Part, PartResult
from lab.spec.network import Network
from lab.units import Duration, Size, from_plain, to_plain

__all__ = ["HUB", "Cost", "Mixed", "Outcome", "run"]

HUB = "hub"  # what the guest with the wires is called in messages
MEMORY = Size.of("1 GiB")  # of each guest


@dataclass(frozen=True)
class Mixed:
    """Describes a run: a network, the kernel of all that has none of its own, and the others' by host."""

    network: Network
    kernel: Kernel
    own: Mapping[str, Kernel]
    commands: tuple[Command, ...]
    lasts: Duration
    seed: int
    root: Root
    budget: Budget = Budget()

    def parts(self) -> dict[str, tuple[Kernel, Part]]:
        """Return what each guest does, the hub's first."""
        part = Part(self.network, tuple(self.own), self.commands, self.lasts.ns, self.seed)
        hosts = {host: (kernel, _of(part, host)) for host, kernel in self.own.items()}
        return {HUB: (self.kernel, part), **hosts}


@dataclass(frozen=True)
class Cost:
    """Says what a run took of this machine."""

    wall_seconds: float
    cpu_seconds: float  # of all guests
    turns: int  # how often one kernel passed the turn on to another


@dataclass(frozen=True)
class Outcome:
    """Says how a run's commands ended, in their order, and what it cost."""

    statuses: tuple[int | None, ...]  # None: it was ended
    kernels: Mapping[str, str]  # what each says of itself, by guest
    cost: Cost


def _of(part: Part, host: str) -> Part:
    """Return the same part for the guest of `host`."""
    return Part(part.network, part.own, part.commands, part.lasts_ns, part.seed, host)


def run(wanted: Mixed, out: Path) -> Outcome:
    """Run all guests to their end, and move what they leave to `out`.

    Raises GuestError (its console is kept in `out`), LabError for what failed in a guest, InputError.
    """
    parts = wanted.parts()
    places = list(parts)
    links = [(0, places.index(end.node)) for end in parts[HUB][1].links()]
    cpu = min(os.sched_getaffinity(0))  # one for all: only one of them runs at a time
    command = [wanted.root.python, "-m", "lab.runner.part", "."]
    with ExitStack() as undo:
        peers = undo.enter_context(Peers(len(parts), links)) if wanted.own else None
        folders, guests = {}, {}
        for number, (place, (kernel, part)) in enumerate(parts.items()):
            folder = folders[place] = undo.enter_context(scratch_guest_folder())
            (folder / "part.json").write_text(json.dumps(to_plain(part)))
            guests[place] = undo.enter_context(
                Guest(
                    kernel,
                    folder,
                    command,
                    seed=_seed(wanted.seed, place),
                    memory=MEMORY,
                    cpu=cpu,
                    budget=wanted.budget,
                    temporary=True,
                    root=wanted.root,
                    seat=peers.seat(number) if peers else None,
                )
            )
        ended = _wait(guests, out)
        results = {place: _taken(place, folders[place], out) for place in parts}
        cost = Cost(
            max(each.wall_seconds for each in ended.values()),
            sum(each.cpu_seconds for each in ended.values()),
            peers.turns if peers else 0,
        )
    statuses = {number: status for result in results.values() for number, status in result.statuses}
    return Outcome(
        tuple(statuses[number] for number in range(len(wanted.commands))),
        {place: result.kernel for place, result in results.items()},
        cost,
    )


def _seed(seed: int, place: str) -> int:
    """Return a guest's seed: each draws other numbers. The hub has the run's own, as if it were the only one."""
    return seed if place == HUB else int.from_bytes(hashlib.sha256(f"{seed}.{place}".encode()).digest()[:8])


def _wait(guests: Mapping[str, Guest], out: Path) -> dict[str, GuestResult]:
    """Wait for all guests; when one dies, the others would wait for their turn for ever."""
    ended: dict[str, GuestResult] = {}
    with ThreadPoolExecutor(len(guests)) as pool:
        waiting = {pool.submit(guest.wait): place for place, guest in guests.items()}
        try:
            for future in as_completed(waiting):
                ended[waiting[future]] = future.result()
        except GuestError as error:
            for guest in guests.values():
                guest.end()
            kept = out / f"{waiting[future]}.console.log"
            shutil.copyfile(error.console, kept)
            error.console = kept
            raise
    return ended


def _taken(place: str, folder: Path, out: Path) -> PartResult:
    """Return a guest's result, and move its outputs to `out`."""
    try:
        plain = json.loads((folder / "result.json").read_text())
    except FileNotFoundError:
        console = shutil.copyfile(folder / "console.log", out / f"{place}.console.log")
        raise LabError(f"{place}: no result; its console is in {console}") from None
    if "error" in plain:
        raise LabError(f"{place}: {plain['error']}")
    for file in sorted((folder / "out").iterdir()):
        shutil.move(file, out / file.name)
    return from_plain(plain, PartResult)
