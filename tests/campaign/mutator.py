"""Spoil files as bad disks, bad editors and bad people do; the same seed spoils them the same way."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from typing import Any

__all__ = ["places", "spoilt", "spoilt_bytes", "spoilt_json", "spoilt_text"]

NUMBERS = ["0", "-1", "1", "2", "0.5", "1e308", "-1e-308", "nan", "inf", "65536", "4294967296", "1e9", "9" * 23]
WORDS = [
    "",
    "null",
    "~",
    "yes",
    "[]",
    "{}",
    "[[[[]]]]",
    "{a: {b: {c: }}}",
    "'",
    '"',
    "\\",
    "&a *a",
    "<<: *a",
    "!!python/none",
]
WORDS += [
    "10 Gbit/s",
    "1 ns",
    "0 B",
    "sender",
    "../../etc/passwd",
    "\x00",
    "é",
    "\u202e",
    "x" * 5000,
    "-",
    ":",
    "#",
    "\t",
]
VALUES: list[Any] = [None, True, 0, -1, 1.5, 1e308, 2**70, "", "x", "../../x", [], {}, [None], {"a": 1}, [[[[[[]]]]]]]
BYTES = [b"", b"\x00" * 4, b"\xff" * 4, b"\xff\xfe", b"\x00" * 100, b"\x7f\xff\xff\xff", b"\n", b"{", b"["]
DEEP = 100_000  # brackets, which a parser that calls itself may not survive


def spoilt(data: bytes, chance: random.Random, name: str) -> bytes:
    """Spoil a file in one to four places, as fits its kind; `data` that comes out unchanged is spoilt again."""
    ways: list[Callable[[bytes, random.Random], bytes]] = [spoilt_bytes]
    if name.endswith((".json", ".ipynb")):
        ways += [spoilt_json] * 3 + [spoilt_text]
    elif not name.endswith((".pcap", ".bin", ".zst")):
        ways += [spoilt_text] * 6
    for _ in range(100):
        found = data
        for _ in range(chance.randint(1, 4)):
            found = chance.choice(ways)(found, chance)
        if found != data:
            return found
    return data + b"\n"


def spoilt_bytes(data: bytes, chance: random.Random) -> bytes:
    """Flip, cut, double, overwrite or insert bytes at one place."""
    at = chance.randrange(len(data) + 1)
    if chance.random() < 0.3:
        at = min(at, chance.randrange(64))  # where headers are
    end = min(len(data), at + chance.choice([1, 2, 4, 16, 1000]))
    other = chance.choice([*BYTES, chance.randbytes(4)])
    match chance.randrange(6):
        case 0 if at < len(data):
            return data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :]
        case 1:
            return data[:at]
        case 2:
            return data[:at] + data[end:]
        case 3:
            return data[:end] + data[at:end] * chance.choice([1, 3, 100]) + data[end:]
        case 4:
            return data[:at] + other + data[at + len(other) :]
    return data[:at] + other + data[at:]


def spoilt_text(data: bytes, chance: random.Random) -> bytes:
    """Change a number, a word, a line or an indentation."""
    text = data.decode("utf-8", "replace")
    lines = text.split("\n")
    at, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    match chance.randrange(9):
        case 0 | 1:
            text = _changed(text, r"-?\d+(\.\d+)?", chance.choice(NUMBERS), chance)
        case 2 | 3:
            known = re.findall(r"[\w.-]+", text) or [""]
            text = _changed(text, r"[\w.-]+", chance.choice([*WORDS, *chance.choices(known, k=10)]), chance)
        case 4:
            text = "\n".join(lines[:at] + lines[at + 1 :])
        case 5:
            text = "\n".join([*lines[:at], lines[other], *lines[at:]])
        case 6:
            text = "\n".join([*lines[:at], " " * chance.randrange(9) + lines[at].lstrip(), *lines[at + 1 :]])
        case 7:
            text = _changed(text, r"[\[\](){}:,'\"=-]", chance.choice(["", "(", "]", "{", ":", "'", ",", " "]), chance)
        case 8:
            text = "\n".join([*lines[:at], chance.choice(WORDS), *lines[at:]])
    return text.encode("utf-8", "replace")


def spoilt_json(data: bytes, chance: random.Random) -> bytes:
    """Change, remove or add a value; what is no JSON is spoilt as text."""
    if chance.random() < 0.02:
        return b"[" * DEEP + b"]" * DEEP
    try:
        root = [json.loads(data)]
    except (ValueError, RecursionError):  # spoilt already, by brackets maybe
        return spoilt_text(data, chance)
    within, key = chance.choice(places(root))
    match chance.randrange(3):
        case 0 if isinstance(within, dict) or within is not root:
            del within[key]
        case 1 if isinstance(within, dict):
            within[chance.choice(["", "extra", "kind", "../x"])] = within[key]
        case _:
            within[key] = chance.choice(VALUES)
    return json.dumps(root[0] if root else None).encode()


def places(root: list[Any]) -> list[tuple[Any, Any]]:
    """Every (container, key) in a document."""
    found: list[tuple[Any, Any]] = []
    left: list[Any] = [root]
    while left:
        within = left.pop()
        for key in within if isinstance(within, dict) else range(len(within)):
            found.append((within, key))
            if isinstance(within[key], dict | list):
                left.append(within[key])
    return found


def _changed(text: str, pattern: str, to: str, chance: random.Random) -> str:
    found = list(re.finditer(pattern, text))
    if not found:
        return text + to
    match = chance.choice(found)
    return text[: match.start()] + to + text[match.end() :]
