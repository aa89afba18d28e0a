"""Pack a folder into one file that begins with its own SHA-256, and fill a folder with what an archive holds."""

from __future__ import annotations

from lab.archive.errors import ArchiveError
from lab.archive.file import SUFFIX, pack, unpack
from lab.archive.unpacked import Unpacked

__all__ = ["SUFFIX", "ArchiveError", "Unpacked", "pack", "unpack"]
