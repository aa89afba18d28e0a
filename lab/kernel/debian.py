"""Find kernels in Debian's archive, as source or as image, by its signed indexes. No program of the machine takes part.

The newest suite is asked first, and the next one only for a series that it lacks; the one with release candidates last.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from lab import version
from lab.building import Progress
from lab.errors import MachineError
from lab.userland import builder, index
from lab.userland.index import Offer
from lab.userland.lock import Package
from lab.userland.mirror import SECURITY, NotFetched, chosen, moment

__all__ = ["Found", "Image", "Offered", "image", "images", "source", "sources"]

PARTS = ("image", "binary", "modules", "base")  # of a kernel: up to 6.12 all in the first, since then spread over all
# From the newest release on; candidates of the next one are in experimental, for whoever names their series.
SUITES = (("sid",), ("stable", "stable-security"), ("oldstable", "oldstable-security"), ("experimental",))


@dataclass(frozen=True, slots=True)
class Offered:
    """Hold the packages of a suite, by name, and say where to ask for them."""

    packages: Mapping[str, Offer]
    part: str  # of the archive: SECURITY, or "" for the main one
    snapshot: str  # when they were offered: the time to ask an archive of all times for

    def found(self, name: str) -> Found:
        """Return one of the packages."""
        return Found(self.packages[name].package, self.part, self.snapshot)


@dataclass(frozen=True, slots=True)
class Found:
    """Name a package, and where it was offered."""

    package: Package
    part: str
    snapshot: str

    def fetch(self, folder: Path) -> Path:
        """Fetch the package into `folder` and return its file. Raises MachineError when it cannot be had."""
        file = folder / Path(self.package.path).name
        chosen(self.snapshot, self.part).download(self.package.path, self.package.sha256, file)
        return file


@dataclass(frozen=True, slots=True)
class Image:
    """Describe a kernel as the distribution ships it, by the packages that hold its image and its modules."""

    series: str  # "6.12"
    release: str  # as the kernel says it, "6.12.107+deb13-amd64"
    version: str  # of the packages, "6.12.107-1"
    packages: tuple[Found, ...]


def source(series: str | None, progress: Progress) -> Found:
    """Return the newest kernel source, or the newest of a series. Uses the network.

    Raises MachineError when there is no such source, or no network.
    """
    known: set[str] = set()
    for suites in _suites(progress):
        offers = [each for offered in suites for each in sources(offered)]
        known |= {version.series(each.package.version) for each in offers}
        if fitting := [each for each in offers if series in (None, version.series(each.package.version))]:
            return max(fitting, key=lambda each: version.order(each.package.version))
    raise MachineError(f"Debian's archive has no source of kernel {series}: it has {_listed(known)}")


def image(series: str | None, progress: Progress) -> Image:
    """Return the newest kernel that Debian ships, or the newest of a series. Uses the network.

    Raises MachineError when there is no such kernel, or no network.
    """
    known: set[str] = set()
    for suites in _suites(progress):
        offers = [each for offered in suites for each in images(offered)]
        known |= {each.series for each in offers}
        if fitting := [each for each in offers if series in (None, each.series)]:
            return max(fitting, key=lambda each: version.order(each.version))
    raise MachineError(f"Debian's archive has no kernel {series}: it has {_listed(known)}")


def sources(offered: Offered) -> list[Found]:
    """Return the kernel sources among the packages of a suite."""
    return [offered.found(name) for name in offered.packages if re.fullmatch(r"linux-source-\d+\.\d+", name)]


def images(offered: Offered) -> list[Image]:
    """Return the kernel that a suite ships as its usual one, if it ships any."""
    usual = offered.packages.get("linux-image-amd64")
    needed = (name for group in usual.needs for name in group) if usual else ()
    release = next((name.removeprefix("linux-image-") for name in needed if re.match(r"linux-image-\d", name)), None)
    if usual is None or release is None:
        return []
    names = (f"linux-{part}-{release}" for part in PARTS)
    packages = tuple(offered.found(name) for name in names if name in offered.packages)
    found = usual.package.version
    return [Image(version.series(found), release, found, packages)] if packages else []


def _suites(progress: Progress) -> Iterator[list[Offered]]:
    """Read suite by suite, each with its security updates. A mirror of the main archive need not have those."""
    keys = builder.keys(progress)
    for suites in SUITES:
        found = []
        for suite in suites:
            part = SECURITY if suite.endswith(SECURITY) else ""
            progress.say(f"reading what {suite} offers")
            try:
                found.append(Offered(index.fetch(chosen(part=part), suite, keys).offers, part, moment()))
            except NotFetched as error:
                if not part:
                    raise
                progress.say(f"going on without {suite}: {error}")
        yield found


def _listed(series: set[str]) -> str:
    return ", ".join(sorted(series, key=version.order, reverse=True)) or "none"
