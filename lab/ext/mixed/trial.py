"""Run a network with hosts that have their own kernels: one guest for each such host, and one for all other nodes."""

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
from lab.guest.network import Network
from lab.guest.part import Command, Part, PartResult
from lab.machine.kernel import Budget, Guest, GuestError, GuestResult, Kernel, scratch_guest_folder
from lab.machine.kernel.peers import Peers
from lab.machine.kernel.root import Root
from lab.units import Duration, Size, from_plain, to_plain

HUB = "hub"  # the name of the guest with the wires in messages
MEMORY = Size.of("1 GiB")  # of each guest


@dataclass(frozen=True)
class Mixed:
    """Describes a run: a network, the common kernel, and the separate kernels of individual hosts."""

    network: Network
    kernel: Kernel
    own: Mapping[str, Kernel]
    commands: tuple[Command, ...]
    lasts: Duration
    seed: int
    root: Root
    budget: Budget = Budget()

    def parts(self) -> dict[str, tuple[Kernel, Part]]:
        """Return (kernel, part of the run) of each guest, the hub first."""
        part = Part(self.network, tuple(self.own), self.commands, self.lasts.ns, self.seed)
        hosts = {host: (kernel, _of(part, host)) for host, kernel in self.own.items()}
        return {HUB: (self.kernel, part), **hosts}


@dataclass(frozen=True)
class MixedCost:
    """Describes the cost of a run on this machine."""

    wall_seconds: float
    cpu_seconds: float  # of all guests
    turns: int  # how often a kernel passed the turn to another kernel


@dataclass(frozen=True)
class MixedOutcome:
    """Describes how the commands of a run ended, in order, and the cost of the run."""

    statuses: tuple[int | None, ...]  # None: ended at the limit
    kernels: Mapping[str, str]  # guest -> the version that its kernel reports
    cost: MixedCost


def _of(part: Part, host: str) -> Part:
    """Return the part for the guest of `host`."""
    return Part(part.network, part.own, part.commands, part.lasts_ns, part.seed, host)


def run(wanted: Mixed, out: Path) -> MixedOutcome:
    """Run all guests until they end, and move their outputs to `out`.

    Raises GuestError (whose console is stored in `out`), LabError for failures in a guest, and InputError.
    """
    parts = wanted.parts()
    places = list(parts)
    links = [(0, places.index(end.node)) for end in parts[HUB][1].links()]
    cpu = min(os.sched_getaffinity(0))  # one CPU for all guests, since only one of them runs at a time
    command = [wanted.root.python, "-m", "lab.guest.part", "."]
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
        cost = MixedCost(
            max(each.wall_seconds for each in ended.values()),
            sum(each.cpu_seconds for each in ended.values()),
            peers.turns if peers else 0,
        )
    statuses = {number: status for result in results.values() for number, status in result.statuses}
    return MixedOutcome(
        tuple(statuses[number] for number in range(len(wanted.commands))),
        {place: result.kernel for place, result in results.items()},
        cost,
    )


def _seed(seed: int, place: str) -> int:
    """Return a guest's own seed, so that each guest draws different numbers. The hub has the run's own seed."""
    return seed if place == HUB else int.from_bytes(hashlib.sha256(f"{seed}.{place}".encode()).digest()[:8])


def _wait(guests: Mapping[str, Guest], out: Path) -> dict[str, GuestResult]:
    """Wait for all guests. If one guest dies, end all guests, because the others would wait for their turn forever."""
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
