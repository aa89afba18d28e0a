"""Convert tc's times, rates, sizes and shares to the lab's notation.

Source: iproute2, lib/utils.c and lib/utils_math.c (get_time, get_time64, get_rate64, get_size, parse_percent).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise

from lab.units import Duration, Rate, Size

_NUMBER = re.compile(r"(\d{1,18}(?:\.\d{0,18})?|\.\d{1,18})([a-zA-Z%]*)", re.ASCII)
_TIMES: Mapping[str, int] = {
    **dict.fromkeys(("s", "sec", "secs"), 10**9),
    **dict.fromkeys(("ms", "msec", "msecs"), 10**6),
    **dict.fromkeys(("us", "usec", "usecs"), 10**3),
    **dict.fromkeys(("ns", "nsec", "nsecs"), 1),
}
_PREFIXES: Mapping[str, int] = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_RATES: Mapping[str, int] = {
    **{f"{prefix}bit": 1000**power for prefix, power in _PREFIXES.items()},
    **{f"{prefix}ibit": 1024**power for prefix, power in _PREFIXES.items() if prefix},
    **{f"{prefix}bps": 8 * 1000**power for prefix, power in _PREFIXES.items()},
    **{f"{prefix}ibps": 8 * 1024**power for prefix, power in _PREFIXES.items() if prefix},
    "": 1,
}
_SIZES: Mapping[str, Fraction] = {
    "": Fraction(1),
    "b": Fraction(1),
    **{prefix: Fraction(1024**power) for prefix, power in _PREFIXES.items() if prefix in ("k", "m", "g")},
    **{f"{prefix}b": Fraction(1024**power) for prefix, power in _PREFIXES.items() if prefix in ("k", "m", "g")},
    **{f"{prefix}bit": Fraction(1024**power, 8) for prefix, power in _PREFIXES.items() if prefix in ("k", "m", "g")},
}


def _split(text: str, what: str) -> tuple[Fraction, str]:
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise ValueError(f"'{text[:40]}' is not a {what}")
    return Fraction(match[1]), match[2].lower()


def _scaled(text: str, what: str, units: Mapping[str, int] | Mapping[str, Fraction]) -> int:
    number, unit = _split(text, what)
    if unit not in units:
        raise ValueError(f"'{text[:40]}' is not a {what} that tc accepts")
    return round(number * units[unit])


def time(text: str) -> str:
    """Return a queue's time such as `10ms` as the lab writes it. A bare number is in us. Raises ValueError."""
    return str(Duration(_scaled(text, "time", {**_TIMES, "": 10**3})))


def netem_time(text: str) -> str:
    """Return one of netem's times such as `10ms` as the lab writes it. A bare number is in ns. Raises ValueError."""
    return str(Duration(_scaled(text, "time", {**_TIMES, "": 1})))


def unitless(name: str, text: str) -> list[str]:
    """Return a message if one of netem's times is a number without a unit, else nothing."""
    try:
        number, unit = _split(text, "time")
    except ValueError:
        return []
    return [] if unit or not number else [f"{name} {text} has no unit, so tc reads {netem_time(text)}"]


def unitless_rates(words: Sequence[str]) -> Iterator[str]:
    """Yield a message for each rate among tc's words that lacks its unit: it is a number below 1 kbit/s."""
    for name, text in pairwise(words):
        if name in ("rate", "ceil", "bandwidth", "peakrate", "maxrate") and text.isdecimal() and int(text) < 1000:
            yield f"{name} {text} has no unit, so tc reads {text} bit/s"


def rate(text: str) -> str:
    """Return a tc rate such as `10mbit` or `1mbps` (bytes) as the lab writes it. Raises ValueError."""
    found = Rate(_scaled(text, "rate", _RATES))
    if not found:
        raise ValueError("a rate of zero carries nothing")
    return str(found)


def size(text: str) -> str:
    """Return a tc size such as `32kbit` or `15k` as the lab writes it. A bare number is in bytes.

    Raises ValueError.
    """
    return str(Size(_scaled(text, "size", _SIZES)))


def share(text: str) -> str:
    """Return a tc share such as `1%` as the lab writes it. A bare number is in percent. Raises ValueError."""
    number, unit = _split(text, "share")
    if unit not in ("", "%") or number > 100:
        raise ValueError(f"'{text[:40]}' is not a share from 0% to 100%")
    return f"{float(number):.10f}".rstrip("0").rstrip(".") + " %"


def count(text: str) -> int:
    """Return a number of packets. Raises ValueError."""
    number, unit = _split(text, "number")
    if unit or number.denominator != 1:
        raise ValueError(f"'{text[:40]}' is not a whole number")
    return int(number)


def seconds(text: str) -> int:
    """Return the time for which `sleep` waits with this argument, in ns. Raises ValueError."""
    units = {"": 10**9, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9, "d": 86400 * 10**9}
    return _scaled(text, "time", units)
