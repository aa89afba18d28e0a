"""A distribution's archive in a folder, with packages made for tests, and a server that offers it."""

from __future__ import annotations

import hashlib
import io
import lzma
import tarfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from lab.machine.userland.lock import Lock, Package, render

LINK, HARD, DEVICE = "->", "=>", "device"


def tar_of(files: Mapping[str, str | bytes]) -> bytes:
    """A tar file. A text that starts with "-> " is a symbolic link, with "=> " a hard one; "/" at its end: a folder."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        for number, (path, given) in enumerate(files.items()):
            content = given if isinstance(given, bytes) else given.encode()
            text = "" if isinstance(given, bytes) else given
            member = tarfile.TarInfo(path)
            member.mtime, member.uid, member.mode = 1_000_000 + number, 4711, 0o4755 if "bin/" in path else 0o640
            kind, _, to = text.partition(" ")
            if kind in (LINK, HARD):
                member.type, member.linkname = tarfile.SYMTYPE if kind == LINK else tarfile.LNKTYPE, to
            elif text == DEVICE:
                member.type = tarfile.CHRTYPE
            elif path.endswith("/"):
                member.type = tarfile.DIRTYPE
            else:
                member.size = len(content)
            tar.addfile(member, io.BytesIO(content) if member.isfile() else None)
    return data.getvalue()


def deb_of(files: Mapping[str, str | bytes], control: str = "") -> bytes:
    """A package that installs these files, and says this of itself, as dpkg-deb writes it."""
    about, installed = lzma.compress(tar_of({"./control": control})), lzma.compress(tar_of(files))
    members = {"debian-binary": b"2.0\n", "control.tar.xz": about, "data.tar.xz": installed}
    parts = [b"!<arch>\n"]
    for name, content in members.items():
        parts.append(f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n".encode() + content)
        parts.append(b"\n" * (len(content) % 2))
    return b"".join(parts)


class Archive:
    """A mirror in `folder` with packages."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.packages: list[Package] = []

    def add(self, name: str, files: Mapping[str, str]) -> Path:
        """Offer a package; return its file."""
        file = self.folder / f"pool/{name}_1.deb"
        file.parent.mkdir(parents=True, exist_ok=True)
        content = deb_of(files)
        file.write_bytes(content)
        self.packages.append(
            Package(name, "1", hashlib.sha256(content).hexdigest(), len(content), f"pool/{name}_1.deb")
        )
        return file

    def lock(self, tree: str = "0" * 64) -> str:
        """The text of a lock of all packages."""
        packages = tuple(sorted(self.packages, key=lambda each: each.name))
        return render(Lock("trixie", "2026-09-12T07:55:41Z", "20261122T072532Z", tree, packages))

    @contextmanager
    def served(self) -> Iterator[str]:
        """The address of a server that offers the archive within this context."""

        class Handler(SimpleHTTPRequestHandler):
            def log_message(self, *_: object) -> None: ...

        with serving(partial(Handler, directory=str(self.folder))) as url:
            yield url


@contextmanager
def serving(handler: Callable[..., BaseHTTPRequestHandler]) -> Iterator[str]:
    """The address of a server, on the loopback, whose questions `handler` answers."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
