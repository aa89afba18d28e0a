"""Make texts fit for line formats and for XML."""

from __future__ import annotations

import re

__all__ = ["line", "lines", "printable"]

_UNPRINTABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def printable(text: str) -> str:
    """Return the text with a replacement for each character that XML cannot hold, control characters among them."""
    return _UNPRINTABLE.sub("\ufffd", text)


def lines(text: str) -> list[str]:
    """Return the lines of a text, whatever ends them."""
    return printable(text).splitlines()


def line(text: str) -> str:
    """Return the text in one line, without the number sign: that begins a directive."""
    return " ".join(" ".join(lines(text)).replace("#", " ").split())
