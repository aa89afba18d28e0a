"""Find kernels in Debian's archive, as sources or images, through the signed indexes, without the host's programs.

The newest suite comes first. Older suites are used only for a series that the newest suite does not have. The suite
with release candidates comes last.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from lab.base import version
from lab.base.building import Progress
from lab.errors import MachineError
from lab.machine.userland import builder, index
from lab.machine.userland.index import Offer
from lab.machine.userland.lock import Package
from lab.machine.userland.mirror import SECURITY, NotFetched, chosen, moment

PARTS = ("image", "binary", "modules", "base")  # of a kernel: up to 6.12 the first has everything
# From the newest release on. Candidates of the next release are in experimental; they are used if their series is
# named.
SUITES = (("sid",), ("stable", "stable-security"), ("oldstable", "oldstable-security"), ("experimental",))


@dataclass(frozen=True, slots=True)
class Offered:
    """Holds the packages of a suite by name, the part of the archive that has them, and the date of its index."""

    packages: Mapping[str, Offer]
    part: str  # of the archive: SECURITY, or "" for the main one
    snapshot: str  # the date of the index: an archive of all versions needs it

    def found(self, name: str) -> Found:
        """Return the package with this name."""
        return Found(self.packages[name].package, self.part, self.snapshot)


@dataclass(frozen=True, slots=True)
class Found:
    """Names a package and the suite that offered it."""

    package: Package
    part: str
    snapshot: str

    def fetch(self, folder: Path) -> Path:
        """Fetch the package into `folder` and return its file. Raises MachineError if the package is not available."""
        file = folder / Path(self.package.path).name
        chosen(self.snapshot, self.part).download(self.package.path, self.package.sha256, file)
        return file


@dataclass(frozen=True, slots=True)
class Image:
    """Describes a kernel that the distribution ships: the packages with its image and its modules."""

    series: str  # "6.12"
    release: str  # as the kernel prints it, "6.12.107+deb13-amd64"
    version: str  # of the packages, "6.12.107-1"
    packages: tuple[Found, ...]


def source(series: str | None, progress: Progress) -> Found:
    """Return the newest kernel source, or the newest of a series. Uses the network.

    Raises MachineError if there is no such source, or no network.
    """
    known: set[str] = set()
    for suites in _suites(progress):
        offers = [each for offered in suites for each in sources(offered)]
        known |= {version.series(each.package.version) for each in offers}
        if fitting := [each for each in offers if series in (None, version.series(each.package.version))]:
            return max(fitting, key=lambda each: version.order(each.package.version))
    raise MachineError(f"Debian's archive has no source of kernel {series}; it has {_listed(known)}")


def image(series: str | None, progress: Progress) -> Image:
    """Return the newest kernel that Debian ships, or the newest of a series. Uses the network.

    Raises MachineError if there is no such kernel, or no network.
    """
    known: set[str] = set()
    for suites in _suites(progress):
        offers = [each for offered in suites for each in images(offered)]
        known |= {each.series for each in offers}
        if fitting := [each for each in offers if series in (None, each.series)]:
            return max(fitting, key=lambda each: version.order(each.version))
    raise MachineError(f"Debian's archive has no kernel {series}; it has {_listed(known)}")


def sources(offered: Offered) -> list[Found]:
    """Return the kernel sources among the packages of a suite."""
    return [offered.found(name) for name in offered.packages if re.fullmatch(r"linux-source-\d+\.\d+", name)]


def images(offered: Offered) -> list[Image]:
    """Return the suite's default kernel in a list, which is empty if the suite has no kernel."""
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
    """Yield the suites, each with its security updates, which a mirror of the main archive need not have."""
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
