"""Web servers that answer a shared store's request as none should."""

from __future__ import annotations

import random
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from itertools import chain, repeat
from pathlib import Path

from lab.errors import LabError
from lab.ext.cluster import sharing
from lab.ext.cluster.server import Patience
from lab.ext.cluster.shared import SharedServer, named
from lab.record.store import Store
from tests.campaign.archives import foreign, holds, sandbox
from tests.campaign.isolated import Attempt, Broken, attempt

__all__ = ["KINDS", "OK", "PATIENCE", "Piece", "disturb", "served"]

PATIENCE = Patience(silence=0.3, seconds=1.0, bytes=8 << 20)
OK = b"HTTP/1.1 200 OK\r\n"
ELSEWHERE = (
    *("ftp://127.0.0.1/x", "file:///etc/passwd", "gopher://127.0.0.1/", "https://127.0.0.1:1/", "data:,x", "//", ""),
    *("/round", "?", "http://127.0.0.1:1/", "http://[", "http://127.0.0.1:99999/", "http:///x", "a b\tc", "\x7f"),
)
LENGTHS = ("0", "1", "-1", "9" * 30, "x", "1e3", "", "5, 6", "0x10")
CHUNKS = (b"%x\r\n" % (1 << 72), b"-1\r\n", b"x\r\n", b"\r\n", b"5;" + b"x" * 70_000 + b"\r\n", b"ffffffff\r\nx")
LINES = (
    b"",
    b"\r\n",
    b"HTTP/1.1\r\n\r\n",
    b"HTTP/1.1 xyz OK\r\n\r\n",
    b"HTTP/9.9 200\r\n\r\n",
    b"\0" * 1000,
    b"x" * 70_000,
)
Piece = bytes | float  # what is sent, or for how long nothing is
Way = Callable[[random.Random, bytes], Iterable[Piece]]


def disturb(case: str, seed: int, folder: Path) -> Attempt:
    """Fetch a record from a server that does the case "KIND:NUMBER", in a process of its own."""
    kind, _, _ = case.partition(":")
    return attempt(partial(_fetch, KINDS[kind], random.Random(f"{seed}/servers/{case}"), folder))


def _fetch(way: Way, chance: random.Random, folder: Path) -> None:
    theirs = next(iter(Store(folder / "theirs")))
    whole = (folder / "shared" / named(theirs.address)).read_bytes()
    with sandbox() as (place, outside):
        body = whole if chance.random() < 0.5 else foreign(whole, chance, folder, outside)
        with served(partial(way, chance, body)) as url:
            ours, said = Store(place / "ours", durable=False), list[str]()
            with suppress(LabError):
                sharing.fetch([theirs.trial], SharedServer(url, PATIENCE), ours, said.append)
            holds(ours)
            if (found := ours.get(theirs.address)) and body == whole and found.outputs != theirs.outputs:
                raise Broken("a record with other outputs is taken")


def _whole(chance: random.Random, body: bytes) -> Iterable[Piece]:
    """The archive, with its length, in chunks, or neither."""
    length = b"Content-Length: %d\r\n\r\n" % len(body)
    if chance.random() < 0.5:
        return [OK, length, body]
    return chain([OK, b"Transfer-Encoding: chunked\r\n\r\n"], _chunks(body), [b"0\r\n\r\n"])


def _long(chance: random.Random, body: bytes) -> Iterable[Piece]:
    """Something that never ends: a body, its chunks or its last lines, a header, or answers that are none yet."""
    lines = [b"X-%d: y\r\n" % number * 50 for number in range(20)]
    return chance.choice(
        (
            chain([OK, b"\r\n", body], repeat(bytes(1 << 16))),
            chain([OK, b"Content-Length: 999999999999\r\n\r\n", body], repeat(bytes(1 << 16))),
            chain([OK, b"Transfer-Encoding: chunked\r\n\r\n"], repeat(b"10000\r\n" + bytes(1 << 16) + b"\r\n")),
            chain([OK, b"Transfer-Encoding: chunked\r\n\r\n0\r\n"], repeat(b"X: y\r\n" * 1000)),
            chain([OK], repeat(b"X: y\r\n" * 1000)),
            chain([OK, *lines, b"\r\n"], repeat(body)),
            chain([OK, b"X: "], repeat(b"y" * (1 << 16))),
            repeat(b"HTTP/1.1 100 Continue\r\n\r\n" * 100),
        )
    )


def _slow(chance: random.Random, body: bytes) -> Iterable[Piece]:
    """A byte now and then, from some place on."""
    answer = OK + b"Content-Length: %d\r\n\r\n" % len(body) + body
    at = chance.randrange(len(answer))
    pause = chance.choice((0.05, 0.2, 100.0))
    return chain(
        [answer[:at]], chain.from_iterable((pause, answer[each : each + 1]) for each in range(at, len(answer)))
    )


def _wrong(chance: random.Random, body: bytes) -> Iterable[Piece]:
    """A length, chunks, or a first line that is none; or an end in the middle."""
    answer = OK + b"Content-Length: %d\r\n\r\n" % len(body) + body
    return chance.choice(
        (
            [OK, b"Content-Length: ", chance.choice(LENGTHS).encode(), b"\r\n\r\n", body],
            [OK, b"Content-Length: %d\r\n\r\n" % (len(body) + 1), body],
            [OK, b"Content-Length: %d\r\n\r\n" % (len(body) // 2), body],
            [OK, b"Transfer-Encoding: chunked\r\n\r\n", chance.choice(CHUNKS), body],
            [OK, b"Content-Encoding: gzip\r\n\r\n", body],
            [chance.choice(LINES), body],
            [answer[: chance.randrange(len(answer))]],
            [chance.randbytes(chance.randrange(5000))],
        )
    )


def _status(chance: random.Random, body: bytes) -> Iterable[Piece]:
    """Another status, with a reason of any length, and of any bytes."""
    reason = chance.choice((b"OK", b"", b"\x1b[2J\x07", b"x" * 60_000, b"\xff\xfe"))
    return [b"HTTP/1.1 %d " % chance.choice((404, 410, 500, chance.randrange(100, 1000))), reason, b"\r\n\r\n", body]


def _redirect(chance: random.Random, body: bytes) -> Iterable[Piece]:
    """To another place."""
    to = chance.choice(ELSEWHERE).encode()
    return [b"HTTP/1.1 %d Found\r\nLocation: " % chance.choice((301, 302, 303, 307, 308)), to, b"\r\n\r\n", body]


def _headers(chance: random.Random, body: bytes) -> Iterable[Piece]:
    """Headers that are many, long, or none."""
    lines = chance.choice(
        (
            [b"X-%d: y\r\n" % number for number in range(chance.choice((99, 100, 100_000)))],
            [b"X: " + b"y" * chance.choice((60_000, 70_000, 7_000_000)) + b"\r\n"],
            [b"X: y\r\n y\r\n" * 1000],
            [b"no colon\r\n", b": none\r\n", b"\xff: \xff\r\n", b"\0\r\n"],
            [b"Content-Length: %d\r\n" % length for length in (1, len(body))],
        )
    )
    return [OK, *lines, b"\r\n", body]


KINDS: Mapping[str, Way] = {
    each.__name__.removeprefix("_"): each for each in (_whole, _long, _slow, _wrong, _status, _redirect, _headers)
}


def _chunks(body: bytes) -> Iterator[bytes]:
    for at in range(0, len(body), 1000):
        piece = body[at : at + 1000]
        yield b"%x\r\n" % len(piece) + piece + b"\r\n"


@contextmanager
def served(pieces: Callable[[], Iterable[Piece]]) -> Iterator[str]:
    """Yield the address of a server that answers each request with the pieces."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=_serve, args=(listening, pieces), daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


def _serve(listening: socket.socket, pieces: Callable[[], Iterable[Piece]]) -> None:
    with suppress(OSError):  # it is over
        while True:
            connection, _ = listening.accept()
            threading.Thread(target=_answer, args=(connection, pieces()), daemon=True).start()


def _answer(connection: socket.socket, pieces: Iterable[Piece]) -> None:
    with connection, suppress(OSError):
        connection.recv(1 << 16)
        for piece in pieces:
            if isinstance(piece, float):
                time.sleep(piece)
            else:
                connection.sendall(piece)
