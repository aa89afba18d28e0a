"""Divide work into parts of about the same cost, the same way on every machine."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self, TypeVar

from lab.errors import InputError

__all__ = ["Shard"]

_Key = TypeVar("_Key", bound=tuple[str | int, ...])


@dataclass(frozen=True)
class Shard:
    """Names one part of several, counted from 1."""

    number: int
    of: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the shard that '3/16' names. Raises InputError."""
        number, slash, of = text.partition("/")
        if not (slash and number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
            raise InputError(f"--shard {text}: write which of how many, as 3/16 (from 1/16 to 16/16)")
        return cls(int(number), int(of))

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def part(self, costs: Mapping[_Key, float]) -> set[_Key]:
        """Return the keys of this part. All parts of equal `costs`, in any order, are disjoint and complete.

        The dearest goes first, always to the part that has least (Graham's LPT): no part then costs more than 4/3 of
        what the largest one of the best division does.
        """
        loads = [(0, number) for number in range(1, self.of + 1)]
        own: set[_Key] = set()
        for thousandths, key in sorted(((round(1000 * cost), key) for key, cost in costs.items()), key=_dearest_first):
            load, number = heapq.heappop(loads)
            heapq.heappush(loads, (load + thousandths, number))
            if number == self.number:
                own.add(key)
        return own


def _dearest_first(each: tuple[int, _Key]) -> tuple[int, _Key]:
    cost, key = each
    return -cost, key
