"""Divide work into parts of about equal cost, in the same way on every machine."""

from __future__ import annotations

import heapq
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self, TypeVar

from lab.errors import InputError

_Key = TypeVar("_Key", bound=tuple[str | int, ...])


@dataclass(frozen=True)
class Shard:
    """Identifies one of several parts, counted from 1."""

    number: int
    of: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the shard for a text such as '3/16'. Raises InputError."""
        number, slash, of = text.partition("/")
        is_number = slash and all(re.fullmatch("[0-9]{1,18}", each) for each in (number, of))
        if not (is_number and 1 <= int(number) <= int(of)):
            raise InputError(
                f"--shard {text} is not a part; write its number and the total, such as 3/16 (from 1/16 to 16/16)"
            )
        return cls(int(number), int(of))

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def part(self, costs: Mapping[_Key, float]) -> set[_Key]:
        """Return the keys of this part. The parts of equal `costs`, in any order, are disjoint and complete.

        Each key, the most expensive first, is assigned to the part with the least cost so far (Graham's LPT). So no
        part costs more than 4/3 of the largest part in the best division.
        """
        loads = [(0, number) for number in range(1, min(self.of, len(costs)) + 1)]  # further parts stay empty
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
