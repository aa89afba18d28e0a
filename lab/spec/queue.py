"""List the queues that a link can have, and their parameters with tc's names, and read queues from a topology.

Missing parameters keep the kernel's defaults. `lab.guest.fabric.queue` passes each parameter to the kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from lab.guest.network import ACK_FILTER, DIFFSERV, ISOLATION, Queue, Setting
from lab.guest.share import Percent
from lab.spec.document import Place
from lab.spec.errors import instead, told
from lab.units import Duration, Rate, Size, UnitError

MOST = 2**32 - 1
MOST_OVERHEAD = 2**15 - 1  # of a rate's overhead, which the kernel counts in 16 bits
MOST_RED_BITS = 31  # of a threshold with the bits of the weight: fewer than 32, red_check_params()
RED_WEIGHT = 9  # tc's default
SFQ_DEPTH, SFQ_DIVISOR, SFQ_FLOWS = 127, 1024, 128  # the kernel's defaults; the depth's is also the largest
MOST_SFQ_DIVISOR = 1 << 16
MOST_SFQ_FLOWS = (1 << 16) - SFQ_DEPTH - 1
MOST_DUALPI2_GAIN = 2**31 - 1

ParameterReader = Callable[[object], Setting]  # raises ValueError for a wrong value


@dataclass(frozen=True)
class Whole:
    """Reads a whole number within these bounds."""

    least: int = 0
    most: int = MOST

    def __call__(self, value: object) -> int:
        """Return the number. Raises ValueError if the value is none, or outside the bounds."""
        if isinstance(value, bool) or not isinstance(value, int) or not self.least <= value <= self.most:
            raise ValueError(f"'{value}' should be a whole number from {self.least} to {self.most}")
        return value


@dataclass(frozen=True)
class Sized:
    """Reads a size within these bounds, in bytes."""

    least: int = 0
    most: int = MOST

    def __call__(self, value: object) -> str:
        """Return the size. Raises ValueError or UnitError if the value is none, or outside the bounds."""
        size = Size.of(str(value))
        if size.bytes > self.most:
            raise ValueError(f"{size} is more than {self.most} B")
        if size.bytes < self.least:
            raise ValueError(f"{size} is less than {self.least} B")
        return str(size)


def _power_of_2(value: object) -> int:
    number = Whole(1, MOST_SFQ_DIVISOR)(value)
    if number & number - 1:
        raise ValueError(f"{number} should be a power of two, up to {MOST_SFQ_DIVISOR}")
    return number


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


def _positive_time(value: object) -> str:
    if not Duration.of(_time(value)):
        raise ValueError("should be longer than zero")
    return _time(value)


def _rate(value: object) -> str:
    rate = Rate.of(str(value))
    if not rate:
        raise ValueError("a rate of zero carries nothing; give a higher rate, or leave it out")
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


_NUMBER, _BYTES, _OVERHEAD = Whole(), Sized(), Sized(most=MOST_OVERHEAD)
_LIMIT = Whole(1)  # frames: a queue without room loses every frame
_ROOM = Sized(1)
_QUANTUM = Sized(256, 1 << 20)  # the kernel replaces other quanta with the nearest of these, or refuses them
_FLOWS = Whole(1, 1 << 16)

_CODEL: Mapping[str, ParameterReader] = {
    "target": _time,
    "interval": _time,
    "limit": _LIMIT,
    "ecn": _flag,
    "ce_threshold": _time,
}
_PIE: Mapping[str, ParameterReader] = {
    "target": _time,
    "tupdate": _time,
    "limit": _LIMIT,
    "alpha": _NUMBER,
    "beta": _NUMBER,
    "ecn": _flag,
    "bytemode": _flag,
    "dq_rate_estimator": _flag,
}

KINDS: Mapping[str, Mapping[str, ParameterReader]] = {
    "pfifo": {"limit": _LIMIT},
    "bfifo": {"limit": _ROOM},
    "codel": _CODEL,
    "fq_codel": {
        **_CODEL,
        "flows": _FLOWS,
        "quantum": _QUANTUM,
        "drop_batch": Whole(1),
        "memory_limit": Sized(1, 1 << 31),
    },
    "cake": {
        "rtt": _positive_time,
        "target": _positive_time,
        "memlimit": _ROOM,
        "diffserv": _one_of(*DIFFSERV),
        "isolation": _one_of(*ISOLATION),
        "ack_filter": _one_of(*ACK_FILTER),
        "nat": _flag,
        "wash": _flag,
        "ingress": _flag,
        "split_gso": _flag,
    },
    "pie": _PIE,
    "fq_pie": {**_PIE, "flows": _FLOWS, "quantum": _QUANTUM, "memory_limit": _ROOM, "ecn_prob": _NUMBER},
    "red": {
        "limit": _BYTES,
        "min": _BYTES,
        "max": _BYTES,
        "probability": _share,
        "ewma": Whole(0, MOST_RED_BITS),
        "avpkt": Sized(1, 65535),
        "ecn": _flag,
        "harddrop": _flag,
        "nodrop": _flag,
        "adaptive": _flag,
    },
    "sfq": {
        "limit": Whole(2),
        "flows": Whole(1, MOST_SFQ_FLOWS),
        "depth": Whole(1, SFQ_DEPTH),
        "divisor": _power_of_2,
        "quantum": _QUANTUM,
        "perturb": _whole_seconds,
        "headdrop": _flag,
    },
    "fq": {
        "limit": _LIMIT,
        "flow_limit": _LIMIT,
        "quantum": _QUANTUM,
        "initial_quantum": Sized(0, 1 << 20),
        "pacing": _flag,
        "maxrate": _rate,
        "orphan_mask": _NUMBER,
        "refill_delay": _time,
        "ce_threshold": _time,
        "horizon": _time,
        "horizon_drop": _flag,
    },
    "tbf": {
        "rate": _rate,
        "burst": _BYTES,
        "limit": _BYTES,
        "latency": _time,
        "peakrate": _rate,
        "mtu": _BYTES,
        "overhead": _OVERHEAD,
        "mpu": _OVERHEAD,
    },
    "htb": {
        "rate": _rate,
        "burst": _BYTES,
        "ceil": _rate,
        "cburst": _BYTES,
        "limit": _LIMIT,
        "overhead": _OVERHEAD,
        "mpu": _OVERHEAD,
    },
    "dualpi2": {
        "limit": _LIMIT,
        "memory_limit": _ROOM,
        "target": _time,
        "tupdate": _positive_time,
        "alpha": Whole(1, MOST_DUALPI2_GAIN),
        "beta": Whole(1, MOST_DUALPI2_GAIN),
        "step_thresh": _time,
        "min_qlen_step": _NUMBER,
        "coupling_factor": Whole(1, 255),
        "classic_protection": Whole(0, 100),
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
        case "sfq":
            yield from _sfq(given)
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
    weight = int(given.get("ewma", RED_WEIGHT))
    if most.bytes.bit_length() + weight > MOST_RED_BITS:
        largest = Size(2 ** (MOST_RED_BITS - weight) - 1)
        yield ("max",), f"with an ewma of {weight}, RED counts to {largest}; give a smaller max or a smaller ewma"
    if given.get("nodrop") == "True" and given.get("ecn") != "True":
        yield ("nodrop",), "without ecn, RED could only drop; add ecn: true"


def _sfq(given: Mapping[str, str]) -> Iterator[tuple[Place, str]]:
    flows, depth = (int(given.get(name, usual)) for name, usual in (("flows", SFQ_FLOWS), ("depth", SFQ_DEPTH)))
    divisor, limit = (int(given.get(name, usual)) for name, usual in (("divisor", SFQ_DIVISOR), ("limit", SFQ_DEPTH)))
    if flows > divisor and "flows" in given:
        yield ("flows",), f"{flows} flows do not fit a divisor of {divisor}; give fewer flows or a larger divisor"
    most = depth * min(flows, divisor)
    if limit > most and "limit" in given:
        yield (
            ("limit",),
            f"{limit} is more than {depth} frames of each of {min(flows, divisor)} flows; give {most} or less",
        )
    elif flows > limit and {"flows", "limit"} <= set(given):
        yield ("flows",), f"{flows} is more than the limit of {limit} frames; give fewer flows"
