"""List the files of a bundle with their SHA-256, in the form that `sha256sum -c` reads."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass

from lab.bundle.errors import BundleError

__all__ = ["FILE", "Manifest", "is_path", "parse"]

FILE = "manifest-sha256.txt"
LINE = re.compile(r"([0-9a-f]{64})  (.+)")


@dataclass(frozen=True, slots=True)
class Manifest:
    """Hold what a bundle consists of. Equal manifests are of equal bundles."""

    files: Mapping[str, str]  # path -> SHA-256

    @property
    def id(self) -> str:
        """Return the SHA-256 of the manifest: the bundle's name."""
        return hashlib.sha256(self.render().encode()).hexdigest()

    def render(self) -> str:
        """Return the text that `parse` reads."""
        return "".join(f"{digest}  {path}\n" for path, digest in sorted(self.files.items()))

    def below(self, folder: str) -> Manifest:
        """Return the part of it about the files in `folder`, or about the file of that name."""
        inside = {path: it for path, it in self.files.items() if path == folder or path.startswith(f"{folder}/")}
        return Manifest(inside)


def parse(text: str) -> Manifest:
    """Read a manifest. Raises BundleError, which names the wrong line."""
    files: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        found = LINE.fullmatch(line)
        where = f"{FILE}:{number}"
        if found is None:
            raise BundleError(f"{where}: no SHA-256 with a path")
        digest, path = found.groups()
        if not is_path(path):
            raise BundleError(f"{where}: {path!r} is no path in a bundle")
        if path in files:
            raise BundleError(f"{where}: {path} stands here a second time")
        files[path] = digest
    return Manifest(files)


def is_path(path: str) -> bool:
    """Say whether this is a plain path below the folder that a bundle is unpacked to."""
    return path.isprintable() and "\\" not in path and not {"", ".", ".."} & set(path.split("/"))
