"""Fetch files of a distribution's archive from the first mirror that has them."""

from __future__ import annotations

import hashlib
import http.client
import os
import tempfile
import urllib.error
import urllib.request
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from lab.errors import MachineError

__all__ = ["MIRROR", "SECURITY", "Mirrors", "NotFetched", "chosen", "moment"]

MIRROR = "LAB_MIRROR"  # the environment variable that names another mirror
USUAL = "http://deb.debian.org/debian"  # plain HTTP is enough: every file is checked by signature or hash
ALL_TIMES = "https://snapshot.debian.org/archive/debian{part}/{time}"
SECURITY = "-security"  # ends the address of the archive with security updates, which stands beside the main one
SECONDS = 60.0  # without a byte


class NotFetched(MachineError):
    """No mirror has the file."""


@dataclass(frozen=True, slots=True)
class Mirrors:
    """Name the folders on the web that hold the same archive, in the order in which they are asked."""

    urls: tuple[str, ...]

    def read(self, path: str) -> bytes:
        """Return the file at `path`. Raises NotFetched, which says what each mirror answered."""
        answers = []
        for url in self.urls:
            try:
                with urllib.request.urlopen(f"{url}/{path}", timeout=SECONDS) as answer:
                    found: bytes = answer.read()
                    return found
            except urllib.error.HTTPError as error:
                answers.append(f"{url}: {error.code} {error.reason}")
            except (OSError, ValueError, http.client.HTTPException) as error:
                answers.append(f"{url}: {getattr(error, 'reason', None) or error}")
        raise NotFetched(f"cannot fetch {path} ({'; '.join(answers)})")

    def download(self, path: str, sha256: str, target: Path) -> None:
        """Fetch the file at `path` into `target`, whole or not at all.

        Raises NotFetched, or MachineError when its SHA-256 is another one.
        """
        content = self.read(path)
        found = hashlib.sha256(content).hexdigest()
        if found != sha256:
            raise MachineError(f"{path} arrived with SHA-256 {found} instead of {sha256}: nothing of it is used")
        with tempfile.NamedTemporaryFile(dir=target.parent, prefix=".partial-", delete=False) as partial:
            try:
                partial.write(content)
                partial.close()
                Path(partial.name).chmod(0o644)
                Path(partial.name).rename(target)
            finally:
                Path(partial.name).unlink(missing_ok=True)


def chosen(snapshot: str = "", part: str = "") -> Mirrors:
    """Return the mirrors to ask: the one that LAB_MIRROR names, or else the usual one.

    What it dropped is asked of the archive that keeps all times, as of `snapshot` (as "20260912T075541Z"), if given.
    `part` is SECURITY for the archive of security updates.
    """
    here = (os.environ.get(MIRROR, "").rstrip("/") or USUAL) + part
    return Mirrors((here, ALL_TIMES.format(part=part, time=snapshot)) if snapshot else (here,))


def moment() -> str:
    """Return the present moment as the archive that keeps all times names it."""
    return datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
