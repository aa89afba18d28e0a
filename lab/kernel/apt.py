"""Fetch a distribution's kernels, as source or image, without touching the machine's own packages.

apt runs with a state of its own, so it needs no root and upgrades nothing. The mirror is the machine's own; the suites
that may hold a newer kernel are added to the machine's suites.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lab import version
from lab.errors import MachineError

__all__ = [
    "Archive",
    "Image",
    "Package",
    "archives",
    "download",
    "images",
    "newest",
    "parse_images",
    "parse_list",
    "parse_sources",
    "render",
]

PARTS = ("image", "binary", "modules", "base")  # of a kernel: up to 6.12 all in the first, since then spread over all
SUITES = ("sid", "stable")  # besides the machine's own: the newest kernel, and the one that stays
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
ETC = Path("/etc/apt")


@dataclass(frozen=True, slots=True)
class Archive:
    """Describe one entry of apt's sources."""

    uris: tuple[str, ...]
    suites: tuple[str, ...]
    components: tuple[str, ...]
    signed_by: str = ""  # as written: a file, or a whole key with its continuation lines


@dataclass(frozen=True, slots=True)
class Package:
    """Describe a package that an archive offers."""

    series: str
    name: str
    version: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Image:
    """Describe a kernel as the distribution ships it, by the packages that hold its image and its modules."""

    series: str  # "6.12"
    release: str  # as the kernel says it, "6.12.107+deb13-amd64"
    version: str  # of the packages, "6.12.107-1"
    packages: tuple[Package, ...]


def parse_sources(text: str) -> Iterator[Archive]:
    """Yield the archives in a file of the deb822 format (`*.sources`)."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    for stanza in re.split(r"\n[ \t]*\n", "\n".join(lines)):
        fields = {
            match.group(1).lower(): match.group(2).strip()
            for match in re.finditer(r"^([\w-]+):((?:.*)(?:\n[ \t].*)*)", stanza, re.MULTILINE)
        }
        if "deb" in fields.get("types", "").split() and fields.get("enabled", "yes").lower() not in ("no", "false"):
            uris, suites, components = (tuple(fields.get(key, "").split()) for key in ("uris", "suites", "components"))
            yield Archive(uris, suites, components, fields.get("signed-by", ""))


def parse_list(text: str) -> Iterator[Archive]:
    """Yield the archives in a file of the one-line format (`*.list`)."""
    for line in text.splitlines():
        match = re.match(r"\s*deb\s+(?:\[([^]]*)\]\s+)?(\S+)\s+(\S+)\s*([^#]*)", line)
        if match:
            options, uri, suite, components = match.groups()
            signed = re.search(r"signed-by=(\S+)", options or "")
            yield Archive((uri,), (suite,), tuple(components.split()), signed.group(1) if signed else "")


def archives(etc: Path = ETC) -> list[Archive]:
    """Return the archives that this machine's apt uses."""
    found: list[Archive] = []
    for file in sorted([etc / "sources.list", *(etc / "sources.list.d").glob("*")]):
        parse = {".list": parse_list, ".sources": parse_sources}.get(file.suffix)
        if parse and file.is_file():
            found += parse(file.read_text(encoding="utf-8", errors="replace"))
    return found


def render(found: Sequence[Archive], codename: str) -> str:
    """Write sources (deb822) for the distribution's own archives, with the suites that may hold a newer kernel.

    `codename` names the distribution's release: an archive that carries it is the distribution's main one.
    """
    stanzas = []
    for archive in found:
        if "main" not in archive.components or not any(suite.startswith(codename) for suite in archive.suites):
            continue
        more = SUITES if codename in archive.suites else ()
        signed = archive.signed_by or (str(KEYRING) if KEYRING.exists() else "")
        fields = {
            "Types": "deb",
            "URIs": " ".join(archive.uris),
            "Suites": " ".join(dict.fromkeys((*archive.suites, *more))),
            "Components": "main",
            "Signed-By": signed,
        }
        stanzas.append("".join(f"{key}: {value}\n" for key, value in fields.items() if value))
    return "\n".join(stanzas)


def newest(state: Path, series: str | None) -> Package:
    """Return the newest kernel source (of a series, if given) that the machine's mirror offers. Uses the network.

    `state` is a folder for apt's lists. Raises MachineError when there is no such source, or no network.
    """
    options = _prepare(state)
    update = _apt(options, "apt-get", "-q", "update")  # may fail for one suite and still serve
    listed = _apt(options, "apt-cache", "search", "--names-only", r"^linux-source-[0-9]+\.[0-9]+(\.0)?$").stdout
    names = re.findall(r"^(linux-source-(\d+)\.(\d+)\S*)", listed, re.MULTILINE)
    offers = {f"{major}.{minor}": name for name, major, minor in names}
    if series is None and offers:
        series = max(offers, key=version.order)
    if series not in offers:
        what = f"linux-source-{series}" if series else "kernel source"
        raise MachineError(f"no {what} in this machine's package archives{_reason(update)}: give one with --source")
    shown = _apt(options, "apt-cache", "show", "--no-all-versions", offers[series]).stdout
    fields = dict(re.findall(r"^(Version|SHA256): (\S+)$", shown, re.MULTILINE))
    return Package(series, offers[series], fields["Version"], fields["SHA256"])


def images(state: Path) -> list[Image]:
    """Return the kernel that each of the mirror's suites ships as its usual one, the newest first. Uses the network.

    `state` is a folder for apt's lists. Raises MachineError when there is no kernel, or no network.
    """
    options = _prepare(state)
    update = _apt(options, "apt-get", "-q", "update")
    usual = _apt(options, "apt-cache", "show", "linux-image-amd64").stdout
    needed = sorted({f"linux-{part}-{name}" for name in _releases(usual) for part in PARTS})
    found = parse_images(usual, _apt(options, "apt-cache", "show", *needed).stdout) if needed else []
    if not found:
        raise MachineError(f"no linux-image-amd64 in this machine's package archives{_reason(update)}")
    return found


def parse_images(usual: str, parts: str) -> list[Image]:
    """Return the kernels that `apt-cache show` describes.

    `usual` is what it says of linux-image-amd64, `parts` what it says of the packages that this may need.
    """
    offered = {(each.name, each.version): each for each in map(_package, parts.split("\n\n")) if each}
    found: dict[str, Image] = {}
    for stanza in usual.split("\n\n"):
        meta, releases = _package(stanza), _releases(stanza)
        if meta is None or not releases:
            continue
        names = [f"linux-{part}-{releases[0]}" for part in PARTS]
        packages = [offered[name, meta.version] for name in names if (name, meta.version) in offered]
        if packages:
            found.setdefault(meta.series, Image(meta.series, releases[0], meta.version, tuple(packages)))
    return list(found.values())


def download(state: Path, package: Package, folder: Path) -> Path:
    """Fetch the package into `folder` and return its file. Raises MachineError when it cannot be had."""
    options = _prepare(state)
    result = _apt(options, "apt-get", "-q", "download", f"{package.name}={package.version}", cwd=folder)
    files = list(folder.glob(f"{package.name}_*.deb"))
    if result.returncode or not files:
        raise MachineError(f"cannot fetch {package.name} {package.version}{_reason(result)}")
    return files[0]


def _releases(stanza: str) -> list[str]:
    return re.findall(r"^Depends:.*\blinux-image-(\d\S+) \(=", stanza, re.MULTILINE)


def _package(stanza: str) -> Package | None:
    fields = dict(re.findall(r"^(Package|Version|SHA256): (\S+)$", stanza, re.MULTILINE))
    series = version.series(fields.get("Version", ""))
    if not series or "SHA256" not in fields:
        return None
    return Package(series, fields["Package"], fields["Version"], fields["SHA256"])


def _prepare(state: Path) -> list[str]:
    for part in ("lists/partial", "cache/archives/partial"):
        (state / part).mkdir(parents=True, exist_ok=True)
    sources = state / "kernel.sources"
    sources.write_text(render(archives(), _codename()), encoding="utf-8")
    settings = {
        "Dir::State": state,
        "Dir::State::lists": state / "lists",
        "Dir::State::status": "/dev/null",
        "Dir::Cache": state / "cache",
        "Dir::Etc::sourcelist": sources,
        "Dir::Etc::sourceparts": "/dev/null",
        "Dir::Etc::preferences": "/dev/null",
        "Dir::Etc::preferencesparts": "/dev/null",
        "Acquire::Languages": "none",
        # A mirror that lags still signs what it has; the exact version that it gives is recorded.
        "Acquire::Check-Valid-Until": "false",
        "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled": "false",
        **({"APT::Sandbox::User": "root"} if os.geteuid() == 0 else {}),
    }
    return [argument for name, value in settings.items() for argument in ("-o", f"{name}={value}")]


def _apt(options: list[str], tool: str, *arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "LC_ALL": "C"}
    return subprocess.run(
        [tool, *options, *arguments], cwd=cwd, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )


def _reason(result: subprocess.CompletedProcess[str]) -> str:
    errors = re.findall(r"^E: (.*)$", result.stderr, re.MULTILINE)
    return f" ({errors[0].strip()})" if errors else ""


def _codename() -> str:
    text = Path("/etc/os-release").read_text(encoding="utf-8")
    match = re.search(r'^VERSION_CODENAME="?([^"\n]+)', text, re.MULTILINE)
    return match.group(1) if match else "sid"
