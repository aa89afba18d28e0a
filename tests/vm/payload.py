"""The second disk of the machine: a tar file with the project, what runs there, and what is handed over."""

from __future__ import annotations

import io
import subprocess
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO

ROOT = Path(__file__).parents[2]
GUEST = Path(__file__).parent / "guest"
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")


def pack(file: IO[bytes], settings: Mapping[str, str], kernels: Path | None = None) -> None:
    """Into `file`: the project as git would commit it, the shell variables `settings`, and the `kernels` of a cache.

    The guest trusts the certificates that this machine trusts: it is in the same network.
    """
    with tarfile.open(fileobj=file, mode="w") as tar:
        for name in _project():
            tar.add(ROOT / name, f"project/{name}", recursive=False)
        for name in ("run", "jupyter.py", "judged.py"):
            tar.add(GUEST / name, name)
        for folder in _built(kernels):
            tar.add(folder, f"kernels/{folder.name}")
        _add(tar, "certificates", CERTIFICATES.read_bytes() if CERTIFICATES.exists() else b"")
        _add(tar, "settings", "".join(f"{name}='{value}'\n" for name, value in settings.items()).encode())
    file.write(bytes(-file.tell() % 512))
    file.flush()


def _project() -> list[str]:
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    return [name for name in names if name and (ROOT / name).exists()]


def _built(kernels: Path | None) -> list[Path]:
    """The folders of finished kernels: each has a description."""
    return [file.parent for file in sorted(kernels.glob("[!.]*/kernel.json"))] if kernels else []


def _add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), 0o644
    tar.addfile(entry, io.BytesIO(content))
