"""Mark this user's predictions with a secret key, so that predictions from other users are recomputed before use."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from lab.base import cache as caches
from lab.guest.trial import canonical
from lab.record.reading import regular

_BYTES = 32
_MARK = "mark"


def mark(file: Path, kept: Mapping[str, Any]) -> dict[str, Any]:
    """Return the contents to store in this file, with this user's mark, which covers the text and the path."""
    return {**kept, _MARK: f"{_name(_key(_place()))}:{_sum(file, kept)}"}


def is_ours(file: Path, kept: Mapping[str, Any]) -> bool:
    """Return whether this user wrote the contents of this file."""
    return hmac.compare_digest(str(kept.get(_MARK, "")), str(mark(file, kept)[_MARK]))


def is_altered(file: Path, kept: Mapping[str, Any]) -> bool:
    """Return whether the file has this user's mark, but its contents have changed."""
    return str(kept.get(_MARK, "")).startswith(f"{_name(_key(_place()))}:") and not is_ours(file, kept)


def _sum(file: Path, kept: Mapping[str, Any]) -> str:
    said = [file.parent.name, file.name, {name: value for name, value in kept.items() if name != _MARK}]
    return hmac.new(_key(_place()), canonical(said), hashlib.sha256).hexdigest()


def _name(key: bytes) -> str:
    return hashlib.sha256(b"name" + key).hexdigest()[:16]


def _place() -> Path:
    return caches.folder("predictions") / "key"


@cache
def _key(place: Path) -> bytes:
    """Return this user's key, and create it if it does not exist.

    A key that cannot be stored is valid in this process only.
    """
    fresh = place.with_name(secrets.token_hex(8))
    with suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True)
        if not place.exists():
            with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(secrets.token_bytes(_BYTES))
            with suppress(FileExistsError):  # another process was faster
                os.link(fresh, place)
            fresh.unlink()
        found = regular(place, _BYTES)
        if len(found) == _BYTES:
            return found
    return secrets.token_bytes(_BYTES)
