"""Write tars header by header, as a stranger may: `tarfile` writes only what is well-formed."""

from __future__ import annotations

import io
import random
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass, replace

__all__ = ["END", "Entry", "drawn", "entries", "header", "pax"]

BLOCK = 512
END = bytes(2 * BLOCK)
NAMES = (
    *("../outside", "../../outside/canary", "{outside}/canary", "/{outside}/canary", "out/../../../outside/canary"),
    *("out", "out/ping.txt", "out/ping.txt/below", "trial.json", "./trial.json", "out//ping.txt", "results/x"),
    *("", ".", "..", "/", "a\nb", "\u202egpj", "\udcff", "C:\\x", "userlands/1/link/below", "manifest-sha256.txt"),
    *("x" * 300, "x/" * 60 + "x", "x/" * 300 + "x", "y" * 5000),
)
LINKS = ("", "..", "../..", "../../../outside", "{outside}", "{outside}/canary", "/etc/passwd", "a", "x" * 5000, "\0")
KINDS = [bytes([kind]) for kind in (*b"01234567xgLKNSVDAM", 0, 255)]
SIZES = (0, 1, 511, 512, 513, 1 << 20, 1 << 33, 1 << 40, (1 << 62) - 1, -1, -512)
DATES = (0, -1, 1 << 33, 1 << 62, -(1 << 62))
MODES = (0, 0o777, 0o4755, 0o2777, 0o1000, 0o7777777, -1)
FIELDS = {
    "mtime": ("nan", "inf", "1e300", "-1", "1.5", "9" * 400),
    "size": ("-1", "1e9", "9" * 30, "nan", ""),
    "path": NAMES,
    "linkpath": LINKS,
    "GNU.sparse.major": ("1",),
    "GNU.sparse.minor": ("0",),
    "GNU.sparse.realsize": (str(1 << 40),),
    "GNU.sparse.size": (str(1 << 40),),
    "GNU.sparse.map": ("0,0", f"0,{1 << 40}", "x"),
    "GNU.sparse.name": NAMES,
    "hdrcharset": ("BINARY", "x"),
    "uid": ("-1", "x"),
    "comment": ("x" * 100_000,),
}


@dataclass(frozen=True)
class Entry:
    """One member, as it is written; `size` is what its header has, whatever follows."""

    name: str
    data: bytes = b""
    kind: bytes = tarfile.REGTYPE
    mode: int = 0o644
    size: int | None = None
    mtime: int = 0
    link: str = ""
    pax: bytes = b""  # what its extended header holds
    chain: int = 1  # extended headers before it, one about the other

    def written(self) -> bytes:
        """Return its headers and its data."""
        extended = header("PaxHeader", tarfile.XHDTYPE, len(self.pax)) + _filled(self.pax) if self.pax else b""
        size = len(self.data) if self.size is None else self.size
        return (
            extended * self.chain
            + header(self.name, self.kind, size, self.mode, self.mtime, self.link)
            + _filled(self.data)
        )


def entries(tar: bytes) -> list[Entry]:
    """Return the members of an honest tar."""
    found = []
    with tarfile.open(fileobj=io.BytesIO(tar)) as opened:
        for member in opened:
            content = opened.extractfile(member) if member.isreg() else None
            data = content.read() if content else b""
            found.append(Entry(member.name, data, member.type, member.mode, None, int(member.mtime), member.linkname))
    return found


def drawn(members: Iterable[Entry], chance: random.Random, outside: str) -> list[Entry]:
    """Return the members with one to three of them wrong, another place among them, or gone."""
    found = list(members)
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(found))
        match chance.randrange(8):
            case 0 if len(found) > 1:
                del found[at]
            case 1:
                found.insert(chance.randrange(len(found)), found[at])
            case 2:
                found.insert(chance.randrange(len(found) + 1), _wrong(Entry("out/more", b"more"), chance, outside))
            case 3:
                chance.shuffle(found)
            case _:
                found[at] = _wrong(found[at], chance, outside)
    return found


def header(name: str, kind: bytes, size: int, mode: int = 0o644, mtime: int = 0, link: str = "") -> bytes:
    """Return one block; a text that does not fit into its field is cut off."""
    parts = (
        _encoded(name)[:100].ljust(100, b"\0"),
        _number(mode, 8) + _number(0, 8) * 2 + _number(size, 12) + _number(mtime, 12),
        b" " * 8 + kind + _encoded(link)[:100].ljust(100, b"\0") + b"ustar\x0000",
    )
    block = b"".join(parts).ljust(BLOCK, b"\0")
    return block[:148] + b"%06o\0 " % sum(block) + block[156:]


def pax(key: str, value: str) -> bytes:
    """Return a line of an extended header, which begins with its own length."""
    rest = b" " + _encoded(key) + b"=" + _encoded(value) + b"\n"
    length = len(rest)
    while len(b"%d" % length) + len(rest) != length:
        length = len(b"%d" % length) + len(rest)
    return b"%d" % length + rest


def _wrong(entry: Entry, chance: random.Random, outside: str) -> Entry:
    """Return the member with one wrong field, in its own header or its extended one."""
    match chance.randrange(9):
        case 0:
            return replace(entry, name=chance.choice(NAMES).format(outside=outside))
        case 1:
            return replace(entry, kind=chance.choice(KINDS), link=chance.choice(LINKS).format(outside=outside))
        case 2:
            return replace(entry, mode=chance.choice(MODES))
        case 3:
            return replace(entry, size=chance.choice(SIZES))
        case 4:
            return replace(entry, mtime=chance.choice(DATES))
        case 5:
            return replace(entry, kind=b"2", data=b"", link=chance.choice(LINKS).format(outside=outside))
        case 6:
            return replace(entry, data=chance.randbytes(len(entry.data)))
        case 7:
            return replace(
                entry, pax=chance.choice((b"x", b"999 path=x\n", b"5 a\n", b"6 a=b\n", bytes(100), b"0 a=\n"))
            )
    keys = chance.sample(sorted(FIELDS), chance.randint(1, 4))
    lines = [pax(key, chance.choice(FIELDS[key]).format(outside=outside)) for key in keys]
    times, chain = chance.choice(((1, 1), (1, 1), (1, 2), (50, 1), (1, 20_000_000 // (BLOCK + len(b"".join(lines))))))
    return replace(entry, pax=b"".join(lines) * times, chain=chain)


def _number(value: int, width: int) -> bytes:
    """Return a field with a number: octal, or binary as GNU writes one that does not fit."""
    if 0 <= value < 8 ** (width - 1):
        return b"%0*o\0" % (width - 1, value)
    return bytes([0x80 if value >= 0 else 0xFF]) + (value % (1 << 8 * (width - 1))).to_bytes(width - 1, "big")


def _filled(data: bytes) -> bytes:
    return data + bytes(-len(data) % BLOCK)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
