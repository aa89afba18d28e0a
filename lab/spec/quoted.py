"""Compare a figure with the words that report it: find the quantities in a quotation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from lab.units import Duration, Quantity, Rate, Size, Value

# How articles write units -> what one may mean, in base units. A "kB" may be decimal or binary.
_BITS = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "m": 10**6, "G": 10**9, "g": 10**9, "T": 10**12}
_BYTES = {"": (1,), "k": (10**3, 2**10), "K": (10**3, 2**10), "M": (10**6, 2**20), "G": (10**9, 2**30)}
_RATES: Mapping[str, tuple[int, ...]] = {
    **{f"{prefix}{bit}{per}": (n,) for prefix, n in _BITS.items() for bit in ("bit", "bits") for per in ("/s", "/sec")},
    **{f"{prefix}{bit}": (n,) for prefix, n in _BITS.items() if prefix for bit in ("bps", "b/s", "bit/second")},
}
_SIZES: Mapping[str, tuple[int, ...]] = {
    **{f"{prefix}{byte}": n for prefix, n in _BYTES.items() for byte in ("B", "Byte", "Bytes", "byte", "bytes")},
    **{f"{prefix}iB": n[-1:] for prefix, n in _BYTES.items() if prefix},
}
_TIMES: Mapping[str, tuple[Fraction, ...]] = {
    name: (Fraction(n),)
    for n, names in (
        ("3600", "h hour hours"),
        ("60", "min minute minutes"),
        ("1", "s sec secs second seconds"),
        ("1/1000", "ms msec msecs millisecond milliseconds"),
        ("1/1000000", "us µs μs usec usecs microsecond microseconds"),
        ("1/1000000000", "ns nsec nanosecond nanoseconds"),
    )
    for name in names.split()
}
_KINDS: Mapping[str, Mapping[str, tuple[int | Fraction, ...]]] = {"bit/s": _RATES, "B": _SIZES, "s": _TIMES}
# each kind, the unit of its table, and the number of the kind's own base units in that unit
_WRITTEN: tuple[tuple[type[Quantity], str, int], ...] = ((Rate, "bit/s", 1), (Duration, "s", 10**9), (Size, "B", 1))
UNITS = tuple(name for kind, _, _ in _WRITTEN for name in kind.units)  # as experiments write them
_NUMBER = r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"


@dataclass(frozen=True)
class QuotedRange:
    """Holds a quantity in a quotation: the range that its digits allow, for each meaning of its unit, in base units."""

    text: str
    ranges: tuple[tuple[Fraction, Fraction], ...]

    def allows(self, number: float) -> bool:
        """Return whether the figure is a reading of the quantity."""
        return any(low <= Fraction(number) <= high for low, high in self.ranges)


def quantities(quote: str, unit: str) -> Iterator[QuotedRange]:
    """Yield the quantities of a quotation that have the dimension of `unit`, a base unit. Numbers without a unit, and
    units that are not in the tables, are left out.
    """
    names = _KINDS.get(unit, {})
    if not names:
        return
    known = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    pattern = rf"(?<![\d.,])(?:({_NUMBER})\s*(?:-|\u2013|to)\s*)?({_NUMBER})[\s-]*({known})(?![\w/])"
    for match in re.finditer(pattern, quote):
        most = match[2].replace(",", "")
        least = (match[1] or most).replace(",", "")
        scales = [Fraction(scale) for scale in names[match[3]]]
        slack = Fraction(1, 2 * 10 ** len(most.partition(".")[2]))
        ranges = ((scale * (Fraction(least) - slack), scale * (Fraction(most) + slack)) for scale in scales)
        yield QuotedRange(match[0], tuple(ranges))


def unit_meant(unit: str) -> str:
    """Return '; did you mean 'Mbit/s'?' for a unit that articles write, like Mbps, else ""."""
    for kind, base, parts in _WRITTEN:
        scales = [scale * parts for scale in _KINDS[base].get(unit, ())]
        if meant := [repr(name) for name, factor in kind.units.items() if factor in scales]:
            return f"; did you mean {' or '.join(meant)}?"
    return ""


def contradiction(figure: Value, quote: str) -> str:
    """Return a message if the quotation has quantities of the figure's dimension and none of them is the figure, else
    "".
    """
    found = list(quantities(quote, figure.unit))
    if not found or any(each.allows(figure.number) for each in found):
        return ""
    return (
        f"the figure is {figure}, but the quotation has {' and '.join(each.text for each in found)}; correct one of "
        "them, or write Implied(figure, how) if the article does not print the figure"
    )
