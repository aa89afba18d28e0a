"""Fetch files in a distribution's archive from the first mirror that has them.

If a mirror or the name service fails briefly, the request is repeated. One lost answer among several hundred packages
must not fail the whole build.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import socket
import tempfile
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from lab.base.moving import move
from lab.errors import MachineError

MIRROR = "LAB_MIRROR"  # the environment variable that names a different mirror
USUAL = "http://deb.debian.org/debian"  # plain HTTP is enough: every file is checked by signature or hash
ALL_TIMES = "https://snapshot.debian.org/archive/debian{part}/{time}"
SECURITY = "-security"  # ends the address of the archive with security updates, which is beside the main one
SECONDS = 60.0  # without a byte
WAITS = (1.0, 4.0, 10.0, 20.0)  # seconds before the mirrors are asked again, if one failed for the moment
PASSING = frozenset({429, 500, 502, 503, 504})  # HTTP's answers that a later request may not get


class NotFetched(MachineError):
    """Raised if no mirror has the file."""


@dataclass(frozen=True, slots=True)
class _Failure:
    answer: str
    is_passing: bool  # whether another try may work


@dataclass(frozen=True, slots=True)
class Mirrors:
    """Names web folders that hold the same archive, in the order of use."""

    urls: tuple[str, ...]

    def read(self, path: str) -> bytes:
        """Return the file at `path`. Raises NotFetched, with the error of each mirror."""
        for wait in (*WAITS, None):
            failures: list[_Failure] = []
            for url in self.urls:
                found = _asked(url, path)
                if isinstance(found, bytes):
                    return found
                failures.append(found)
            if wait is None or not any(failure.is_passing for failure in failures):
                break
            time.sleep(wait)
        raise NotFetched(f"cannot fetch {path} ({'; '.join(failure.answer for failure in failures)})")

    def download(self, path: str, sha256: str, target: Path) -> None:
        """Download the file at `path` to `target` atomically.

        Raises NotFetched, or MachineError if the SHA-256 differs.
        """
        content = self.read(path)
        found = hashlib.sha256(content).hexdigest()
        if found != sha256:
            raise MachineError(f"{path} arrived with SHA-256 {found} instead of {sha256}: it is not used")
        with tempfile.NamedTemporaryFile(dir=target.parent, prefix=".partial-", delete=False) as partial:
            try:
                partial.write(content)
                partial.close()
                Path(partial.name).chmod(0o644)
                move(Path(partial.name), target)
            finally:
                Path(partial.name).unlink(missing_ok=True)


@lru_cache(maxsize=16)
def _addresses(host: str, port: int) -> list[tuple[Any, ...]]:
    """Return a mirror's addresses.

    The addresses are cached, because name services drop a few of several hundred requests, and each loss costs 5 s.
    """
    return [found[4][:2] for found in socket.getaddrinfo(host, port, 0, socket.SOCK_STREAM)]


class _Connection(http.client.HTTPConnection):
    """Connects to the first known address of the mirror, as long as that address answers."""

    def connect(self) -> None:
        """Connect. After a failure, the next attempt looks up the mirror's address again."""
        addresses = _addresses(self.host, self.port)
        for number, address in enumerate(addresses, 1):
            try:
                self.sock = socket.create_connection(address, timeout=self.timeout)
            except OSError:
                if number == len(addresses):
                    _addresses.cache_clear()
                    raise
            else:
                return


class _Handler(urllib.request.HTTPHandler):
    """Opens http addresses, for hundreds of files."""

    def http_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        """Send the request, and return the answer."""
        return self.do_open(_Connection, request)


def _open(address: str) -> Any:
    return urllib.request.build_opener(_Handler).open(address, timeout=SECONDS)


def _asked(url: str, path: str) -> bytes | _Failure:
    try:
        with _open(f"{url}/{path}") as answer:
            found: bytes = answer.read()
            return found
    except urllib.error.HTTPError as error:
        return _Failure(f"{url}: {error.code} {error.reason}", error.code in PASSING)
    except (OSError, ValueError, http.client.HTTPException) as error:
        cause = getattr(error, "reason", None) or error
        return _Failure(f"{url}: {cause}", _passes(cause))


def _passes(cause: object) -> bool:
    if isinstance(cause, socket.gaierror):
        return cause.errno == socket.EAI_AGAIN
    lost = (TimeoutError, ConnectionResetError, ConnectionAbortedError, BrokenPipeError)
    return isinstance(cause, (*lost, http.client.IncompleteRead, http.client.RemoteDisconnected))


def chosen(snapshot: str = "", part: str = "") -> Mirrors:
    """Return the mirrors to use: the one that LAB_MIRROR names, or else the default mirror.

    With `snapshot` (such as "20260912T075541Z"), packages that the mirrors have dropped come from the archive of all
    versions, as of that time. `part` is SECURITY for the archive of security updates.
    """
    here = (os.environ.get(MIRROR, "").rstrip("/") or USUAL) + part
    return Mirrors((here, ALL_TIMES.format(part=part, time=snapshot)) if snapshot else (here,))


def moment() -> str:
    """Return the current time in the form that the archive of all versions uses."""
    return datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
