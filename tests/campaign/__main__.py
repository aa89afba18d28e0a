"""The fault campaign: `python -m tests.campaign [PART ...]`. What each part does is in docs/robustness.md.

Every case follows from the seed and its number, so a case that fails is repeated by `--seed SEED --case CASE`.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from tests.campaign import archives, calls, clock, files, forging, kills, nfs, servers
from tests.campaign.isolated import Broken
from tests.campaign.runs import Reference, reference

CASES = {
    "files": 10_000,
    "archives": 5000,
    "servers": 1000,
    "kills": 500,
    "together": 50,
    "calls": 300,
    "nfs": 150,
    "clock": 50,
    "attacks": 1,
    "records": 20_000,
}
KINDS = {"files": files.KINDS, "archives": archives.KINDS, "servers": servers.KINDS}  # done in processes of their own
GROUND = {"files": files.ground, "archives": archives.ground, "servers": archives.ground}
FORKED = {"files": files.spoil, "archives": archives.disturb, "servers": servers.disturb}
ATTACKS = (
    "tests/machine/kernel/test_containment.py",
    "tests/machine/kernel/test_seccomp.py",
    "tests/machine/kernel/test_leaks.py",
)
LONG = 100  # cases, of which one wants to hear
WORTH = 10  # cases, before another process is worth the seconds in which it imports what they need
ROOT = Path(__file__).parents[2]
Found = tuple[str, str]  # what is wrong; a remark


def main() -> int:
    """Do the campaign; return 1 when anything was found."""
    asked = argparse.ArgumentParser(prog="python -m tests.campaign", description=__doc__)
    asked.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(CASES)}; all unless named")
    asked.add_argument("--seed", type=int, default=int(time.time()), help="decides every case; the time unless given")
    asked.add_argument("--scale", type=float, default=1.0, help="the part of all cases that is done")
    asked.add_argument("--case", help="do one case again, as it was named")
    given = asked.parse_args()
    if unknown := [part for part in given.parts if part not in CASES]:
        asked.error(f"there is no part {unknown[0]}")
    print(f"seed {given.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="replab-campaign-") as folder:
        if given.case:
            return _shown(given.case, given.seed, _one(given.case, given.seed, Path(folder)))
        parts = given.parts or list(CASES)
        return max(_part(part, _scaled(part, given.scale), given.seed, Path(folder, part)) for part in parts)


def _scaled(part: str, scale: float) -> int:
    return max(1, round(CASES[part] * scale))


def _part(part: str, count: int, seed: int, folder: Path) -> int:
    """Do so many cases of a part, and print what was found, and a line on all."""
    folder.mkdir()
    begun = time.monotonic()
    remarks: Counter[str] = Counter()
    wrong = 0
    for done, (case, found) in enumerate(_cases(part, count, seed, folder), 1):
        wrong += _shown(case, seed, found)
        remarks[found[1]] += 1
        if count >= LONG and done % (count // 10) == 0:
            print(f"{part}: {done} of {count} after {time.monotonic() - begun:.0f} s", flush=True)
    said = "; ".join(f"{number} {remark}" for remark, number in remarks.most_common(20) if remark)
    seconds = time.monotonic() - begun
    print(f"{part}: {count} cases in {seconds:.0f} s, {wrong} wrong{f' ({said})' if said else ''}", flush=True)
    return int(wrong > 0)


def _cases(part: str, count: int, seed: int, folder: Path) -> Iterator[tuple[str, Found]]:
    if part in FORKED:
        names = list(KINDS[part])
        cases = [f"{names[number % len(names)]}:{number // len(names)}" for number in range(count)]
        GROUND[part](folder)
        spawned = multiprocessing.get_context("spawn")  # no threads of ours in what forks
        processes = min(len(os.sched_getaffinity(0)), max(1, count // WORTH))
        with ProcessPoolExecutor(processes, spawned) as pool:
            done = pool.map(partial(FORKED[part], seed=seed, folder=folder), cases)
            yield from ((f"{part}/{case}", (found.wrong, "")) for case, found in zip(cases, done, strict=True))
        return
    if part == "records":
        with ProcessPoolExecutor(len(os.sched_getaffinity(0)), multiprocessing.get_context("spawn")) as pool:
            cases = list(map(str, range(count)))
            forged = pool.map(partial(forging.forged, seed=seed, folder=folder), cases, chunksize=20)
            yield from ((f"records/{case}", (wrong, "")) for case, wrong in zip(cases, forged, strict=True))
        return
    work = _work(part, seed, folder)
    for number in range(count):
        yield f"{part}/{number}", _tried(partial(work, number))


def _one(case: str, seed: int, folder: Path) -> Found:
    part, _, name = case.partition("/")
    if part in FORKED:
        GROUND[part](folder)
        return FORKED[part](name, seed, folder).wrong, ""
    if part == "records":
        return forging.forged(name, seed, folder), ""
    return _tried(partial(_work(part, seed, folder), int(name)))


def _work(part: str, seed: int, folder: Path) -> Callable[[int], str | None]:
    """Return what does the case of a number; it may return a remark."""
    if part == "attacks":
        return _attack
    of: Reference = reference(folder)
    if part == "calls":
        number = calls.count(of)
        return lambda case: calls.fail_one(case, seed, of, number).rpartition(" ")[2]
    if part == "nfs":
        ways = nfs.counted(of)
        return lambda case: nfs.disturb(case, seed, of, ways)
    work = {"kills": kills.kill, "together": kills.together, "clock": clock.jump}[part]
    return lambda case: work(case, seed, of)


def _attack(_: int) -> None:
    """Let a guest attack its host, in all ways that docs/security.md lists."""
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", *ATTACKS], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise Broken(done.stdout[-3000:])


def _tried(work: Callable[[], str | None]) -> Found:
    try:
        return "", work() or ""
    except Broken as broken:
        return str(broken), ""


def _shown(case: str, seed: int, found: Found) -> int:
    """Print what is wrong, with the command that repeats it; return whether anything is."""
    if found[0]:
        print(f"{case}: {found[0]}\n  again: python -m tests.campaign --seed {seed} --case {case}", flush=True)
    return int(bool(found[0]))


if __name__ == "__main__":
    sys.exit(main())
