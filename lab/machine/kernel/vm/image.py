"""Open a kernel image: a bzImage, as in Documentation/arch/x86/boot.rst.

The kernel proper is compressed inside the image. QEMU can start the unpacked kernel directly (the PVH entry,
CONFIG_PVH), so that no emulated CPU spends seconds on unpacking. After that, the CPU runs the same code.
"""

from __future__ import annotations

import gzip
import lzma
import re
import shutil
import struct
import subprocess
from pathlib import Path

from lab.errors import InputError
from lab.spec.errors import unreadable

_SETUP_SECTORS, _MAGIC, _VERSION, _PAYLOAD = 0x1F1, 0x202, 0x20E, 0x248
_ELF = b"\x7fELF"


def release(path: Path) -> str:
    """Return the release in the image, such as "6.1.0-56-amd64". Raises InputError if the file is not a kernel
    image.
    """
    head = _read(path)[: 1 << 16]
    (offset,) = struct.unpack_from("<H", head, _VERSION)
    said = re.match(rb"[\x21-\x7e]+", head[offset + 0x200 :])
    if not said:
        raise InputError(f"{path}: the kernel image does not contain its release")
    return said.group().decode()


def unpacked(path: Path) -> bytes | None:
    """Return the kernel proper (ELF), or None if its compression is unknown and QEMU has to start the image.

    Raises InputError if `path` is not a kernel image.
    """
    data = _read(path)
    offset, length = struct.unpack_from("<II", data, _PAYLOAD)
    start = ((data[_SETUP_SECTORS] or 4) + 1) * 512 + offset
    payload = data[start : start + length]
    try:
        if payload.startswith(b"\xfd7zXZ\0"):
            kernel = lzma.LZMADecompressor().decompress(payload)  # the rest is its length, not a part of it
        elif payload.startswith(b"\x1f\x8b"):
            kernel = gzip.decompress(payload)
        elif payload.startswith(b"\x28\xb5\x2f\xfd") and (zstd := shutil.which("zstd")):
            kernel = subprocess.run([zstd, "-dc"], input=payload[:-4], capture_output=True, check=True).stdout
        else:
            return None
    except (lzma.LZMAError, OSError, EOFError, subprocess.CalledProcessError) as error:
        raise InputError(f"{path}: the kernel image is damaged: {error}") from None
    return kernel if kernel.startswith(_ELF) else None


def _read(path: Path) -> bytes:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {unreadable(path, error)}") from None
    if len(data) < 1 << 12 or data[_MAGIC : _MAGIC + 4] != b"HdrS":
        raise InputError(f"{path}: not a kernel image; name a bzImage or vmlinuz")
    return data
