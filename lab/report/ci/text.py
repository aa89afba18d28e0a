"""Make texts safe for line formats and for XML."""

from __future__ import annotations

import re

_UNPRINTABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def printable(text: str) -> str:
    """Return the text with a replacement for each character that XML cannot hold, such as control characters."""
    return _UNPRINTABLE.sub("\ufffd", text)


def lines(text: str) -> list[str]:
    """Return the lines of a text with any line endings."""
    return printable(text).splitlines()


def line(text: str) -> str:
    """Return the text in one line, without number signs, which would begin a directive."""
    return " ".join(" ".join(lines(text)).replace("#", " ").split())
