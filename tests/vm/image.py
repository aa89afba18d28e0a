"""A bootable Debian from an empty file, made without root and kept in the cache."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

GUEST = Path(__file__).parent / "guest"
PACKAGES = ("linux-image-amd64", "systemd-sysv", "dbus", "udev", "sudo", "ca-certificates", "netbase", "passwd")
GIB = 16  # of disk; empty blocks take no room
_MKFS = """
mkdir root
tar -C root --exclude='./dev/?*' -xf root.tar
cp root/boot/vmlinuz-* kernel
cp root/boot/initrd.img-* initrd
truncate -s "$1G" disk
/sbin/mke2fs -q -t ext4 -d root disk
rm -r root root.tar
"""


@dataclass(frozen=True)
class Image:
    """A disk with Debian on it, and the stock kernel and initial RAM disk that it boots with."""

    disk: Path
    kernel: Path
    initrd: Path


def base(suite: str, cache: Path, refresh: bool = False) -> Image:
    """The image of a Debian suite, built unless the cache has it. One builds at a time, and the others wait.

    Needs mmdebstrap and fakeroot. What an interrupted build left is removed by the next. Raises CalledProcessError.
    """
    folder = cache / f"{suite}-{_recipe()}"
    unfinished = cache / "unfinished"
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if refresh:
            shutil.rmtree(folder, ignore_errors=True)
        if not folder.is_dir():
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir()
            try:
                _build(suite, unfinished)
                unfinished.rename(folder)
            finally:
                shutil.rmtree(unfinished, ignore_errors=True)
    return Image(folder / "disk", folder / "kernel", folder / "initrd")


def _build(suite: str, folder: Path) -> None:
    packages, hook = ",".join(PACKAGES), f'sh {GUEST / "customize"} "$1"'
    debian = ["mmdebstrap", "--quiet", "--variant=minbase", f"--include={packages}", f"--customize-hook={hook}"]
    dying = ["setpriv", "--pdeathsig", "TERM"]  # it takes back its mounts and files
    environment = {**os.environ, "TMPDIR": str(folder)}
    subprocess.run([*dying, *debian, suite, "root.tar"], cwd=folder, env=environment, check=True)
    # As if by root: the owners of the files are kept, whoever builds.
    subprocess.run([*dying, "fakeroot", "sh", "-euc", _MKFS, "mkfs", str(GIB)], cwd=folder, check=True)


def _recipe() -> str:
    """A hash of all that decides what is on the disk, but for the packages' versions."""
    total = hashlib.sha256(Path(__file__).read_bytes())
    for name in ("customize", "replab-payload.service", "10-dhcp.network"):
        total.update((GUEST / name).read_bytes())
    return total.hexdigest()[:12]
