"""Fetch a file from an untrusted web server, with limits on bytes and time."""

from __future__ import annotations

import http.client
import io
import time
import urllib.error
import urllib.request
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from typing import IO, Any, BinaryIO
from urllib.parse import urlsplit

_PIECE = 1 << 20


class Refused(OSError):
    """Raised if a server misbehaves in a way that no shared store's server would. The message names the action."""


@dataclass(frozen=True)
class Patience:
    """Limits the time that a server may take for a file, and the file's size."""

    silence: float = 60.0  # seconds without a byte
    seconds: float = 1800.0  # for the whole file
    bytes: int = 1 << 28  # with its headers; the archives of the lab's own trials have up to 20 MB


def fetch(url: str, target: BinaryIO, patience: Patience) -> None:
    """Write the file at `url` to `target`.

    Raises urllib.error.HTTPError for an HTTP error, and OSError or http.client.HTTPException if the server cannot be
    reached or exceeds the limits.
    """
    opener = urllib.request.OpenerDirector()
    with closing(_Handler(patience)) as handler:
        for each in (
            urllib.request.ProxyHandler(),
            urllib.request.HTTPDefaultErrorHandler(),
            urllib.request.HTTPErrorProcessor(),
            _SameScheme(),
            handler,
        ):
            opener.add_handler(each)
        try:
            answer = opener.open(url, timeout=patience.silence)
            while piece := answer.read(_PIECE):
                target.write(piece)
        except ValueError as error:  # of an invalid address to which it redirects
            raise Refused(str(error)) from None


class _SameScheme(urllib.request.HTTPRedirectHandler):
    """Follows a redirect unless it changes the scheme: to ftp://, or from https:// to http://."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        if urlsplit(newurl).scheme != req.type:
            raise Refused(f"it redirects to {newurl[:100]!r}, which does not begin with {req.type}://")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


class _Handler(urllib.request.HTTPHandler, urllib.request.HTTPSHandler):
    """Sends requests with HTTP or HTTPS. One meter counts all bytes received for a file, from any server."""

    def __init__(self, patience: Patience) -> None:
        urllib.request.HTTPHandler.__init__(self)
        urllib.request.HTTPSHandler.__init__(self)
        self._meter = _Meter(patience)
        self._answers = ExitStack()

    def close(self) -> None:
        """Close all responses, including redirects."""
        self._answers.close()

    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self._answered(http.client.HTTPConnection, req)

    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self._answered(http.client.HTTPSConnection, req)

    def _answered(
        self, kind: type[http.client.HTTPConnection], req: urllib.request.Request
    ) -> http.client.HTTPResponse:
        return self._answers.enter_context(self.do_open(partial(self._connection, kind), req))

    def _connection(
        self, kind: type[http.client.HTTPConnection], host: str, **options: Any
    ) -> http.client.HTTPConnection:
        connection = kind(host, **options)
        connection.response_class = partial(_Response, self._meter)  # type: ignore[assignment]  # it is only called
        return connection


class _Meter:
    """Limits the time for the next byte, and counts the bytes."""

    def __init__(self, patience: Patience) -> None:
        self._patience = patience
        self._until = time.monotonic() + patience.seconds
        self._bytes = 0

    def left(self) -> float:
        """Return the seconds that the next byte may take. Raises Refused if no time is left."""
        left = min(self._patience.silence, self._until - time.monotonic())
        if left <= 0:
            raise Refused(f"it takes more than {self._patience.seconds:g} s for one file")
        return left

    def add(self, count: int) -> None:
        """Count bytes. Raises Refused if there are too many."""
        self._bytes += count
        if self._bytes > self._patience.bytes:
            raise Refused(f"it sends more than {self._patience.bytes:,} bytes for one file")


class _Response(http.client.HTTPResponse):
    """Reads a response and its header through the meter."""

    def __init__(self, meter: _Meter, sock: Any, *args: Any, **options: Any) -> None:
        super().__init__(sock, *args, **options)
        self.fp = io.BufferedReader(_Metered(self.fp.detach(), sock, meter))


class _Metered(io.RawIOBase):
    """Reads from a socket. The socket's own `timeout` would limit only single reads."""

    def __init__(self, raw: io.RawIOBase, sock: Any, meter: _Meter) -> None:
        self._raw, self._sock, self._meter = raw, sock, meter

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._sock.settimeout(self._meter.left())
        try:
            count = self._raw.readinto(buffer)
        except TimeoutError:
            self._meter.left()  # raises if all of the time has passed
            raise Refused("it sends nothing") from None
        self._meter.add(count or 0)
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()
