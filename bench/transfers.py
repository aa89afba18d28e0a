"""Draw the transfers of `make explain-truth` from a date: path, buffers, queue, losses, congestion control and program.

A transfer depends on the date and on its number alone. Whatever spans decades is drawn evenly on a logarithmic scale.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import Any

from bench.backlog import ENDS
from bench.draw import Dice, Drawn, Figure, case_of
from bench.holdout import SCRATCH
from lab import metric, model
from lab.guest.probe import Capture, TcpInfo
from lab.guest.task import Observer
from lab.guest.workload import Bulk, PacedReader, RequestResponse, SmallWrites
from lab.record.date import now
from lab.spec import find
from lab.spec.changes import Changes
from lab.units import Duration, Rate, Size

KERNEL = "7.2"
RATES = (2e6, 2e8)  # bit/s
DELAYS = (1e-3, 0.06)  # seconds, one way
BUFFERS = (32 << 10, 8 << 20)  # bytes
LOSSES = (1e-4, 0.03)
QUEUES = (0.2, 4.0)  # BDPs
FRAMES = 16_000  # full ones, that a trial carries at most


def draw(day: str, number: int, buffer: int | None = None) -> Drawn:
    """Draw one transfer. `buffer` (bytes) replaces the largest send buffer (tcp_wmem[2]), and nothing else."""
    dice = Dice(f"explained {day} {number}")
    rate, delay = dice.between(RATES), dice.between(DELAYS)
    per_second = rate / 8 / 1538
    bdp = max(rate * 2 * delay / 8 / 1538, 4)
    way: dict[str, Any] = {"rate": Rate(1000 * round(rate / 1000)), "delay": Duration(1000 * round(1e6 * delay))}
    there = {**way, "limit": "ample" if dice.happens(0.3) else max(8, round(bdp * (1 + dice.between(QUEUES))))}
    if dice.happens(0.3):
        there["loss"] = f"{100 * dice.between(LOSSES):.3f} %"
    sysctls = {}
    for name, least, probability in (("rmem", 131072, 0.4), ("wmem", 16384, 0.4)):
        if dice.happens(probability):
            most = round(dice.between(BUFFERS))
            sysctls[f"net.ipv4.tcp_{name}"] = f"4096 {min(least, most)} {most}"
    if dice.happens(0.15):
        sysctls["net.ipv4.tcp_timestamps"] = "0"
    if buffer is not None:
        first = sysctls.get("net.ipv4.tcp_wmem", "4096 16384 4194304").rsplit(" ", 1)[0]
        sysctls["net.ipv4.tcp_wmem"] = f"{first} {buffer}"
    links = {"path": {"rate": None, "delay": None, "forward": there, "back": {**way, "limit": "ample"}}}
    hosts: dict[str, Any] = {"sender": {"offloads": {"tso": True, "gso": True}}} if dice.happens(0.2) else {}
    network = find.topology("two-hosts").resolve(Changes(links=links, sysctls=sysctls, hosts=hosts))
    kind = dice.choose([name for name, (weight, _) in _PROGRAMS.items() for _ in range(weight)])
    seconds = min(5.0, FRAMES / per_second)
    workload = _PROGRAMS[kind][1](dice, rate, seconds)
    snap = Size(128)
    probes: tuple[Observer, ...] = (*(Capture(node=end, snap=snap) for end in ENDS), TcpInfo(node="sender"))
    figure = Figure(workload, metric.bulk_goodput(), model.goodput_bulk, probes)
    case = case_of(kind, f"{day}/{number}", network, figure)
    return Drawn(number, case, KERNEL, round(dice.between((1, 1e6))))


def _bulk(dice: Dice, _rate: float, seconds: float) -> Bulk:
    return Bulk(duration=_time(seconds), congestion=dice.choose(("cubic", "cubic", "reno", "bbr")))


def _slow_writer(dice: Dice, rate: float, seconds: float) -> Bulk:
    """Writes a block, then computes for some time: at 0.05 to 0.8 of the path's rate."""
    block = round(dice.between((4e3, 2e5)))
    effort = 8 * block / rate / dice.between((0.05, 0.8))
    effort = min(effort, seconds / 8)
    return Bulk(duration=_time(seconds), block=Size(block), effort=Duration(1000 * round(1e6 * effort)))


def _slow_reader(dice: Dice, rate: float, seconds: float) -> PacedReader:
    block = round(dice.between((16e3, 128e3)))
    least = 8 * block * 4 / seconds
    return PacedReader(
        duration=_time(seconds), rate=Rate(round(max(least, rate * dice.between((0.05, 1.2))))), block=Size(block)
    )


def _turns(dice: Dice, _rate: float, _seconds: float) -> RequestResponse:
    return RequestResponse(
        count=20,
        interval=Duration(10**6 * round(dice.between((1, 300)))),
        request=Size(round(dice.between((1, 20_000)))),
        response=Size(round(dice.between((1, 20_000)))),
        think=Duration(10**6 * round(dice.between((1, 50)))),
    )


def _small(dice: Dice, _rate: float, _seconds: float) -> SmallWrites:
    return SmallWrites(
        messages=round(dice.between((5, 30))),
        writes=round(dice.between((2, 15))),
        size=Size(round(dice.between((1, 400)))),
        way=dice.choose(("plain", "plain", "nodelay", "writev")),
    )


def _time(seconds: float) -> Duration:
    return Duration(10**6 * max(500, round(1000 * seconds)))


_PROGRAMS: Mapping[str, tuple[int, Callable[[Dice, float, float], Any]]] = {  # and how often each is drawn
    "bulk": (10, _bulk),
    "slow writer": (3, _slow_writer),
    "slow reader": (3, _slow_reader),
    "turns": (2, _turns),
    "small writes": (2, _small),
}


def options(target: str, description: str, cases: int) -> argparse.ArgumentParser:
    """Return a parser of the options that every judge of these transfers has. `target` is its target in make."""
    parser = argparse.ArgumentParser(prog=f"make {target}", description=description)
    parser.add_argument("--date", default=now()[:10], type=lambda text: date.fromisoformat(text).isoformat(),
                        help="decides the transfers (today's, in UTC)")  # fmt: skip
    parser.add_argument("--cases", type=int, default=cases, help=f"how many ({cases})")
    parser.add_argument("--only", type=int, action="append", metavar="N", help="run this one; may be repeated")
    parser.add_argument("--jobs", type=int, help="trials at a time (one for each core)")
    parser.add_argument("--results", type=Path, default=SCRATCH / "explained", help="where trials are kept")
    return parser
