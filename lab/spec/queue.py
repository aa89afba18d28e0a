"""List the queues that a link can have, and their parameters with tc's names, and read queues from a topology.

Missing parameters keep the kernel's defaults. `lab.guest.fabric.queue` passes each parameter to the kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from lab.guest.network import ACK_FILTER, DIFFSERV, ISOLATION, Queue, Setting
from lab.guest.share import Percent
from lab.spec.document import Place
from lab.spec.errors import instead, told
from lab.units import Duration, Rate, Size, UnitError

MOST = 2**32 - 1
MOST_OVERHEAD = 2**15 - 1  # of a rate's overhead, which the kernel counts in 16 bits

ParameterReader = Callable[[object], Setting]  # raises ValueError for a wrong value


def _number(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST:
        raise ValueError(f"'{value}' should be a whole number from 0 to {MOST}")
    return value


def _small_number(value: object) -> int:
    if _number(value) > 255:
        raise ValueError(f"'{value}' should be a whole number from 0 to 255")
    return _number(value)


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"'{value}' should be true or false")
    return value


def _time(value: object) -> str:
    time = Duration.of(str(value))
    if time.ns % 1000 or time.ns // 1000 > MOST:
        raise ValueError(f"{time}: a queue's times should be whole microseconds, at most {Duration(MOST * 1000)}")
    return str(time)


def _whole_seconds(value: object) -> str:
    time = Duration.of(str(value))
    if time.ns % 10**9 or time.ns > 10**15:
        raise ValueError(f"{time} should be whole seconds")
    return str(time)


def _bytes(value: object) -> str:
    size = Size.of(str(value))
    if size.bytes > MOST:
        raise ValueError(f"{size} is more than {MOST} B")
    return str(size)


def _small_size(value: object) -> str:
    size = Size.of(str(value))
    if size.bytes > MOST_OVERHEAD:
        raise ValueError(f"{size} is more than {MOST_OVERHEAD} B")
    return str(size)


def _rate(value: object) -> str:
    rate = Rate.of(str(value))
    if rate.bps % 8 or rate.bps // 8 > MOST:
        raise ValueError(f"{rate} should be whole bytes a second, fewer than 2^32")
    return str(rate)


def _share(value: object) -> str:
    return f"{Percent.of(value) * 100:.10g} %"


def _one_of(*words: str) -> ParameterReader:
    def read(value: object) -> str:
        if value not in words:
            raise ValueError(f"'{value}' should be one of {', '.join(words)}")
        return str(value)

    return read


_CODEL: Mapping[str, ParameterReader] = {
    "target": _time,
    "interval": _time,
    "limit": _number,
    "ecn": _flag,
    "ce_threshold": _time,
}
_PIE: Mapping[str, ParameterReader] = {
    "target": _time,
    "tupdate": _time,
    "limit": _number,
    "alpha": _number,
    "beta": _number,
    "ecn": _flag,
    "bytemode": _flag,
    "dq_rate_estimator": _flag,
}

KINDS: Mapping[str, Mapping[str, ParameterReader]] = {
    "pfifo": {"limit": _number},
    "bfifo": {"limit": _bytes},
    "codel": _CODEL,
    "fq_codel": {
        **_CODEL,
        "flows": _number,
        "quantum": _bytes,
        "drop_batch": _number,
        "memory_limit": _bytes,
    },
    "cake": {
        "rtt": _time,
        "target": _time,
        "memlimit": _bytes,
        "diffserv": _one_of(*DIFFSERV),
        "isolation": _one_of(*ISOLATION),
        "ack_filter": _one_of(*ACK_FILTER),
        "nat": _flag,
        "wash": _flag,
        "ingress": _flag,
        "split_gso": _flag,
    },
    "pie": _PIE,
    "fq_pie": {**_PIE, "flows": _number, "quantum": _bytes, "memory_limit": _bytes, "ecn_prob": _number},
    "red": {
        "limit": _bytes,
        "min": _bytes,
        "max": _bytes,
        "probability": _share,
        "ewma": _number,
        "avpkt": _bytes,
        "ecn": _flag,
        "harddrop": _flag,
        "nodrop": _flag,
        "adaptive": _flag,
    },
    "sfq": {
        "limit": _number,
        "flows": _number,
        "depth": _number,
        "divisor": _number,
        "quantum": _bytes,
        "perturb": _whole_seconds,
        "headdrop": _flag,
    },
    "fq": {
        "limit": _number,
        "flow_limit": _number,
        "quantum": _bytes,
        "initial_quantum": _bytes,
        "pacing": _flag,
        "maxrate": _rate,
        "orphan_mask": _number,
        "refill_delay": _time,
        "ce_threshold": _time,
        "horizon": _time,
        "horizon_drop": _flag,
    },
    "tbf": {
        "rate": _rate,
        "burst": _bytes,
        "limit": _bytes,
        "latency": _time,
        "peakrate": _rate,
        "mtu": _bytes,
        "overhead": _small_size,
        "mpu": _small_size,
    },
    "htb": {
        "rate": _rate,
        "burst": _bytes,
        "ceil": _rate,
        "cburst": _bytes,
        "limit": _number,
        "overhead": _small_size,
        "mpu": _small_size,
    },
    "dualpi2": {
        "limit": _number,
        "memory_limit": _bytes,
        "target": _time,
        "tupdate": _time,
        "alpha": _number,
        "beta": _number,
        "step_thresh": _time,
        "min_qlen_step": _number,
        "coupling_factor": _small_number,
        "classic_protection": _small_number,
        "drop_on_overload": _flag,
        "drop_enqueue": _flag,
        "split_gso": _flag,
    },
}

# Parameters that must be given. Without one, a FIFO's limit would follow from the length of the device's queue.
NEEDED: Mapping[str, tuple[str, ...]] = {
    "pfifo": ("limit",),
    "bfifo": ("limit",),
    "red": ("limit", "min", "max"),
    "tbf": ("burst",),
    "htb": ("burst",),
}


def read(value: object) -> tuple[Queue | None, list[tuple[Place, str]]]:
    """Return the queue of `value` (a kind, or a mapping with a kind) and the mistakes in it. With mistakes, the queue
    is None.
    """
    given: Mapping[Any, Any] = value if isinstance(value, Mapping) else {"kind": value}
    kind = given.get("kind")
    if kind is None:
        return None, [((), f"a queue needs a kind: {', '.join(KINDS)}")]
    place: Place = ("kind",) if isinstance(value, Mapping) else ()
    if not isinstance(kind, str) or kind not in KINDS:
        return None, [(place, f"unknown queue '{kind}'{instead(str(kind), KINDS)}")]
    parameters: list[tuple[str, Setting]] = []
    absent = [name for name in NEEDED.get(kind, ()) if name not in given]
    mistakes: list[tuple[Place, str]] = [((), f"{kind} needs its {name}") for name in absent]
    for name, setting in given.items():
        if name == "kind":
            continue
        reader = KINDS[kind].get(name)
        if reader is None:
            mistakes.append(((name,), f"{kind} has no parameter '{name}'{instead(str(name), KINDS[kind])}"))
            continue
        try:
            parameters.append((name, reader(setting)))
        except (ValueError, UnitError) as error:
            mistakes.append(((name,), told(error)))
    made = Queue(kind, tuple(sorted(parameters)))
    mistakes = mistakes or list(_contradictions(made))
    return (None, mistakes) if mistakes else (made, [])


def _contradictions(queue: Queue) -> Iterator[tuple[Place, str]]:
    given = {name: str(setting) for name, setting in queue.parameters}
    match queue.kind:
        case "red":
            yield from _red(given)
        case "tbf":
            yield from _tbf(given)
        case "htb" if {"rate", "ceil"} <= set(given) and Rate.of(given["ceil"]) < Rate.of(given["rate"]):
            yield ("ceil",), f"{given['ceil']} is less than the rate of {given['rate']}"


def _tbf(given: Mapping[str, str]) -> Iterator[tuple[Place, str]]:
    if ("limit" in given) is ("latency" in given):
        yield (), "tbf needs either its limit, in bytes, or its latency"
    if ("peakrate" in given) is not ("mtu" in given):
        yield (), "tbf's peakrate and its mtu, the bytes that leave at once, need each other"
    elif {"peakrate", "rate"} <= set(given) and not Rate.of(given["rate"]) < Rate.of(given["peakrate"]):
        yield ("peakrate",), f"{given['peakrate']} is not more than the rate of {given['rate']}"


def _red(given: Mapping[str, str]) -> Iterator[tuple[Place, str]]:
    least, most, limit = (Size.of(given[name]) for name in ("min", "max", "limit"))
    if not least < most:
        yield ("max",), f"RED marks between min and max: {most} is not more than {least}"
    if not most < limit:
        yield ("limit",), f"RED's average never reaches its max of {most} with a limit of {limit}"
