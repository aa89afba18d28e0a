"""Keep resolved networks in the user's cache.

To read and resolve a topology, the lab imports Pydantic and a YAML parser, and builds validators. All this takes longer
than a short trial's guest. A kept network has the name of a hash of all that decides it: the topology's text, the
changes, the code that resolves them, and the packages that this code uses. Networks of other code, and those that come
after the thousandth, would only fill the disk.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import msgspec

from lab.base import cache as caches
from lab.base.writing import write
from lab.errors import MachineError
from lab.guest.network import Network
from lab.spec.shipped import PACKAGE
from lab.units import from_plain, to_plain

_CODE = ("base", "guest", "spec", "units.py")  # of the lab's folder
_MOST = 1000  # networks of the same code: a study draws many networks, and needs each once
_OLD = 30 * 86400.0  # seconds since the last network of this code was kept
_PACKAGES = ("msgspec", "pydantic", "pydantic_core", "ruamel.yaml")


class KeptNetwork(msgspec.Struct, frozen=True):
    """Holds a network, and the sentence of its topology."""

    about: str
    network: Network


def find(decided: Sequence[str]) -> KeptNetwork | None:
    """Return the network that these texts decided earlier, or None."""
    with suppress(OSError, ValueError, msgspec.MsgspecError):
        return from_plain(msgspec.json.decode(_file(decided).read_bytes()), KeptNetwork)
    return None


def keep(decided: Sequence[str], about: str, network: Network) -> None:
    """Keep the network that these texts decided, unless other files decided it, too, or the folder is full."""
    if any(
        direction.trace or direction.distribution for link in network.links for direction in (link.forward, link.back)
    ):
        return
    file = _file(decided)
    with suppress(MachineError, OSError):  # without a writable cache, it is resolved again
        if not file.parent.exists():
            _remove_old(file.parent.parent)
        elif sum(1 for _ in file.parent.iterdir()) >= _MOST:
            return
        write(msgspec.json.encode(to_plain(KeptNetwork(about, network))), file)


def _remove_old(place: Path) -> None:
    """Remove what other code kept, unless it did so within the last month."""
    for each in place.iterdir() if place.exists() else ():
        if time.time() - each.stat().st_mtime > _OLD:
            shutil.rmtree(each, ignore_errors=True)


def _file(decided: Sequence[str]) -> Path:
    return caches.folder("networks") / _hash(_code())[:16] / f"{_hash(repr(decided))}.json"


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def _code() -> str:
    """Return a text that differs whenever the code or the packages differ: like Python's bytecode, it has their dates
    and sizes.
    """
    packages = (Path(spec.origin) for spec in map(find_spec, _PACKAGES) if spec and spec.origin)
    about = [(str(file), file.stat().st_mtime_ns, file.stat().st_size) for file in (*_sources(), *packages)]
    return repr((sys.version, about))


def _sources() -> Iterator[Path]:
    for name in _CODE:
        place = PACKAGE / name
        files = place.rglob("*") if place.is_dir() else [place]
        yield from sorted(each for each in files if each.is_file() and each.parent.name != "__pycache__")
