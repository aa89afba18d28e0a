"""Read the packages of a suite from its signed index, and find their dependencies."""

from __future__ import annotations

import hashlib
import lzma
import re
import subprocess
import tempfile
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

from lab.errors import MachineError
from lab.machine.userland.lock import Package
from lab.machine.userland.mirror import Mirrors
from lab.machine.userland.program import command

GPGV = "usr/bin/gpgv"
KEYRING = "usr/share/keyrings/debian-archive-keyring.pgp"
LIST = "main/binary-amd64/Packages.xz"
FIELDS = re.compile(r"^(Package|Version|SHA256|Size|Filename|Depends|Pre-Depends|Provides): (.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Offer:
    """Describes a package that a suite offers."""

    package: Package
    needs: tuple[tuple[str, ...], ...]  # each is a group of alternatives
    provides: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Index:
    """Holds a suite's packages, by name, and the signed date of the index, such as "2026-09-12T07:55:41Z"."""

    date: str
    offers: Mapping[str, Offer]


@dataclass(frozen=True, slots=True)
class Keys:
    """Names the keys that may sign an index, and the tree whose gpgv checks the signature. One key is enough."""

    tree: Path  # of the userland `keyring`
    file: Path | None = None  # None: the distribution's, from the tree

    @property
    def ring(self) -> Path:
        """The file that holds the keys."""
        return (self.file or self.tree / KEYRING).absolute()


def fetch(mirrors: Mirrors, suite: str, keys: Keys) -> Index:
    """Return the index of a suite, such as "trixie" or "stable".

    Raises NotFetched, and MachineError if the signature or a hash is wrong.
    """
    release = signed(mirrors.read(f"dists/{suite}/InRelease"), keys)
    date = re.search(r"^Date: (.*)$", release, re.MULTILINE)
    names = re.findall(r"^(?:Codename|Suite): (.*)$", release, re.MULTILINE)
    entry = re.search(rf"^ ([0-9a-f]{{64}}) +\d+ {re.escape(LIST)}$", release, re.MULTILINE)
    if not (date and entry and suite in names):
        raise MachineError(f"the signed index is not that of {suite}, or does not list {LIST}")
    listed = mirrors.read(f"dists/{suite}/{LIST}")
    if hashlib.sha256(listed).hexdigest() != entry.group(1):
        raise MachineError(f"{LIST} of {suite} does not match its signed index: the mirror may be changing")
    day = parsedate_to_datetime(date.group(1)).astimezone(UTC)
    return Index(_stamp(day), newest(stanzas(lzma.decompress(listed).decode())))


def _stamp(moment: datetime) -> str:
    """Return a date in the form that locks use."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def signed(text: bytes, keys: Keys) -> str:
    """Return the text that one of `keys` signed, without any surrounding text.

    Raises MachineError if no key signed it.
    """
    if not keys.ring.is_file():
        raise MachineError(f"{keys.ring}, which holds the keys of the archive, is missing")
    with tempfile.TemporaryDirectory(prefix="replab-index-") as folder:
        given, content = Path(folder, "InRelease"), Path(folder, "content")
        given.write_bytes(text)
        options = ["--homedir", folder, "--status-fd", "1", "--keyring", str(keys.ring), "--output", str(content)]
        check = command(keys.tree, GPGV, *options, str(given))
        try:
            status = subprocess.run(check, capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout
        except OSError as error:
            raise MachineError(f"the userland's gpgv, which checks signatures, does not run here: {error}") from None
        said = set(re.findall(r"^\[GNUPG:\] (\w+)", status, re.MULTILINE))
        # Several keys sign an index, and an older keyring lacks the newest ones. One good signature is enough if none
        # is bad.
        if "GOODSIG" not in said or "BADSIG" in said or not content.is_file():
            raise MachineError(f"no key of {keys.ring} signed the archive's index; name newer keys with --keyring FILE")
        return content.read_text(encoding="utf-8")


def stanzas(listed: str) -> Iterator[Offer]:
    """Yield the packages in the text of a Packages file."""
    for stanza in listed.split("\n\n"):
        fields = dict(FIELDS.findall(stanza))
        if "Filename" in fields:
            name, version, sha256, path = (fields[key] for key in ("Package", "Version", "SHA256", "Filename"))
            groups = [*_groups(fields.get("Pre-Depends", "")), *_groups(fields.get("Depends", ""))]
            provides = tuple(each for group in _groups(fields.get("Provides", "")) for each in group)
            yield Offer(Package(name, version, sha256, int(fields["Size"]), path), tuple(groups), provides)


def newest(offers: Iterable[Offer]) -> dict[str, Offer]:
    """Return the offers by package name. If an index has several versions of a package, return the newest."""
    found: dict[str, Offer] = {}
    for each in offers:
        known = found.setdefault(each.package.name, each)
        if order(each.package.version) > order(known.package.version):
            found[each.package.name] = each
    return found


def order(version: str) -> tuple[Any, ...]:
    """Return the sort key of a package's version "[epoch:]upstream[-revision]" (Debian Policy, 5.6.12)."""
    epoch, _, rest = version.rpartition(":")
    upstream, _, revision = rest.rpartition("-") if "-" in rest else (rest, "", "0")
    return int(epoch or 0), _weights(upstream), _weights(revision)


def _weights(text: str) -> list[tuple[list[int], int]]:
    """Return the sort weights of a version's parts. The order is "~", the end, letters, and all other characters."""
    found = []
    for others, digits in re.findall(r"(\D*)(\d*)", text):
        weights = [-1 if each == "~" else ord(each) if each.isalpha() else ord(each) + 256 for each in others]
        found.append(([*weights, 0], int(digits or 0)))
    return found


def needed(index: Mapping[str, Offer], wanted: Collection[str], without: Collection[str]) -> tuple[Package, ...]:
    """Return the packages `wanted` with all dependencies, except dependencies that only packages in `without` need.

    Among alternatives, the function chooses a package that is wanted anyway, else the first that exists. Raises
    MachineError if no alternative exists.
    """
    providers: dict[str, list[str]] = {}
    for name, offer in sorted(index.items()):
        for provided in offer.provides:
            providers.setdefault(provided, []).append(name)
    found: dict[str, Package] = {}
    todo = deque((name, "it") for name in sorted(wanted))
    while todo:
        name, by = todo.popleft()
        if name in found:
            continue
        if name not in index:
            raise MachineError(f"the suite has no package {name}, which {by} needs")
        found[name] = index[name].package
        for group in index[name].needs:
            offered = [each for alternative in group for each in (alternative, *providers.get(alternative, ()))]
            if not {*offered} & {*without, *wanted, *found}:
                todo.append((next((each for each in offered if each in index), group[0]), name))
    return tuple(sorted(found.values(), key=lambda package: package.name))


def _groups(field: str) -> Iterator[tuple[str, ...]]:
    """Split "a (>= 1) | b, c:any" into (a, b), (c). Versions are ignored, because a suite's packages fit together."""
    for group in filter(None, field.split(",")):
        yield tuple(re.split(r"[\s:(\[]", each.strip())[0] for each in group.split("|"))
