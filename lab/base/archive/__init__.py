"""Pack a folder into one file that begins with its own SHA-256, and unpack such a file into a folder."""

from __future__ import annotations

from lab.base.archive.errors import ArchiveError
from lab.base.archive.file import SUFFIX, pack, pack_programs, unpack
from lab.base.archive.members import PIECE, WINDOW, Bounds, Members, is_path
from lab.base.archive.unpacked import Unpacked

__all__ = [
    "PIECE",
    "SUFFIX",
    "WINDOW",
    "ArchiveError",
    "Bounds",
    "Members",
    "Unpacked",
    "is_path",
    "pack",
    "pack_programs",
    "unpack",
]
