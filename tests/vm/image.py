"""A bootable Debian from an empty file, made without root and kept in the cache."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

GUEST = Path(__file__).parent / "guest"
PACKAGES = (
    *("linux-image-amd64", "systemd-sysv", "systemd-resolved", "dbus", "udev", "sudo", "ca-certificates", "netbase"),
    *("passwd", "openssh-server", "rsync"),  # the last two are how Vagrant comes in
)
FILES = ("customize", "replab-payload.service", "10-dhcp.network", "vagrant.pub")
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

    Needs mmdebstrap, fakeroot and, but for root, uidmap. What an interrupted build left is removed by the next.
    Raises CalledProcessError.
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
                for outdated in cache.glob(f"{suite}-*"):
                    shutil.rmtree(outdated)
                unfinished.rename(folder)
            finally:
                shutil.rmtree(unfinished, ignore_errors=True)
    return Image(folder / "disk", folder / "kernel", folder / "initrd")


def _build(suite: str, folder: Path) -> None:
    files = " ".join(str(GUEST / name) for name in FILES)
    # Handed in by mmdebstrap itself: in its user namespace, root may not read what is this user's.
    hooks = f"copy-in {files} /", 'chroot "$1" sh /customize'
    debian = ["mmdebstrap", "--quiet", "--variant=minbase", f"--include={','.join(PACKAGES)}"]
    debian += [f"--customize-hook={hook}" for hook in hooks]
    _run([*debian, suite, "root.tar"], folder)
    # As if by root: the owners of the files are kept, whoever builds.
    _run(["fakeroot", "sh", "-euc", _MKFS, "mkfs", str(GIB)], folder)


def _run(argv: list[str], folder: Path) -> None:
    """Ends it when it is interrupted itself: all its processes, since mmdebstrap's first one waits for the others.

    Then it takes back its mounts and files. When this process is killed, it does so once it is done.
    """
    with subprocess.Popen(argv, cwd=folder, process_group=0) as process:
        try:
            status = process.wait()
        except BaseException:
            os.killpg(process.pid, signal.SIGTERM)
            raise
    if status:
        raise subprocess.CalledProcessError(status, argv[0])


def _recipe() -> str:
    """A hash of all that decides what is on the disk, but for the packages' versions."""
    total = hashlib.sha256(Path(__file__).read_bytes())
    for name in FILES:
        total.update((GUEST / name).read_bytes())
    return total.hexdigest()[:12]
