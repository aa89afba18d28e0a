"""Read a share as topologies write it: in percent."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Self


class Percent(float):
    """Holds a probability from 0 to 1, written in percent."""

    @classmethod
    def of(cls, text: object) -> Self:
        """Return the probability that a text such as '0.5 %' means.

        Raises ValueError if the text is not a share from 0 % to 100 %.
        """
        if isinstance(text, cls):
            return text
        match = re.fullmatch(r"\s*([+-]?(?:\d+(?:\.\d*)?|\.\d+))\s*(%?)\s*", str(text))
        if match is None:
            raise ValueError(f"'{text}' is not a share: write it like '1 %'")
        if not match.group(2):
            raise ValueError(f"share '{text}' lacks a unit: write it like '1 %'")
        share = Fraction(match.group(1)) / 100
        if not 0 <= share <= 1:
            raise ValueError(f"'{text}' is not within 0 % and 100 %")
        return cls(share)
