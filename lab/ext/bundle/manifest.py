"""List the files in a bundle with their SHA-256, in the form that `sha256sum -c` reads."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass

from lab.base.archive import is_path
from lab.ext.bundle.errors import BundleError

FILE = "manifest-sha256.txt"
LINE = re.compile(r"([0-9a-f]{64})  (.+)")


@dataclass(frozen=True, slots=True)
class Manifest:
    """Holds the parts of a bundle. Equal bundles have equal manifests."""

    files: Mapping[str, str]  # path -> SHA-256

    @property
    def id(self) -> str:
        """The SHA-256 of the manifest, which is the bundle's name."""
        return hashlib.sha256(self.render().encode()).hexdigest()

    def render(self) -> str:
        """Return the text that `parse` reads."""
        return "".join(f"{digest}  {path}\n" for path, digest in sorted(self.files.items()))

    def below(self, folder: str) -> Manifest:
        """Return the manifest's part for the files in `folder`, or for the file with that name."""
        inside = {path: it for path, it in self.files.items() if path == folder or path.startswith(f"{folder}/")}
        return Manifest(inside)


def parse(text: str) -> Manifest:
    """Return the manifest in a text. Raises BundleError, which names the wrong line."""
    files: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        found = LINE.fullmatch(line)
        where = f"{FILE}:{number}"
        if found is None:
            raise BundleError(f"{where}: not a SHA-256 with a path")
        digest, path = found.groups()
        if not is_path(path):
            raise BundleError(f"{where}: {path!r} is not a valid path in a bundle")
        if path in files:
            raise BundleError(f"{where}: {path} is here a second time")
        files[path] = digest
    return Manifest(files)
