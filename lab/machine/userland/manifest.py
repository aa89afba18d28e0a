"""Describe every byte of a tree in one text. The hash of this text is the tree's name."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path


def manifest(tree: Path, hashes: Mapping[str, str] | None = None) -> str:
    """Return a line for each entry in the folder `tree`, by path, with tabs between path, kind, mode, date and content.

    The content is the SHA-256 of a file, the target of a link, or an empty text for a folder. `hashes` holds the
    SHA-256, by path, of files that were just written, so that these files are not read again.
    """
    return "".join("\t".join(fields) + "\n" for fields in sorted(_fields(tree, hashes or {})))


def differences(expected: str, found: str) -> list[str]:
    """Return the paths at which two manifests differ."""
    lines = set(expected.splitlines()) ^ set(found.splitlines())
    return sorted({line.partition("\t")[0] for line in lines})


def _fields(tree: Path, hashes: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    for top, folders, files in os.walk(tree):
        for name in [*folders, *files]:
            path = Path(top, name)
            inside = str(path.relative_to(tree))
            about = path.lstat()
            content = ""
            if stat.S_ISLNK(about.st_mode):
                content = str(path.readlink())
            elif stat.S_ISREG(about.st_mode):
                content = hashes.get(inside) or _hash_of(path)
            yield inside, stat.filemode(about.st_mode), str(int(about.st_mtime)), content


def _hash_of(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
