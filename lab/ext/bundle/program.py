"""Build the program in a bundle: a zip file for Python, with the lab and all its dependencies."""

from __future__ import annotations

import os
import stat
import zipfile
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from pathlib import Path

from lab.ext.bundle.seal import SEAL_BYTES
from lab.ext.bundle.start import CODE, TREE

DATE = (2026, 1, 1, 0, 0, 0)
NOT_OURS = frozenset({"__pycache__", ".ipynb_checkpoints"})
SHIPPED = ("experiments", "notebooks", "packs", "topologies")
METADATA = "Metadata-Version: 2.1\nName: replab\nVersion: {}\n"
# It must print its message in any Python 3, so it uses nothing newer.
MAIN = """\
import sys

if sys.version_info < (3, 11):
    sys.exit("lab: this needs Python 3.11 or newer, and is run by %d.%d" % sys.version_info[:2])
try:
    from lab.ext.bundle.start import main
except Exception as error:  # of the zip file, whose reader checks nothing, or of the Python in it
    sys.exit("lab: %s is damaged: %s" % (sys.argv[0], error))
main()
"""


def make(to: Path, tree: Path, package: Path, shipped: Path) -> None:
    """Write the program: the folder `tree` with a Python, the lab's own `package`, and the `shipped` files.

    The program has the lab's version, like an installed package. The zip comment is reserved for the seal.
    """
    own = version("replab")
    with zipfile.ZipFile(to, "x", zipfile.ZIP_DEFLATED) as zipped:
        zipped.comment = b"0" * SEAL_BYTES
        zipped.writestr(_entry("__main__.py", stat.S_IFREG | 0o644), MAIN)
        zipped.writestr(_entry(f"replab-{own}.dist-info/METADATA", stat.S_IFREG | 0o644), METADATA.format(own))
        _add(zipped, TREE, tree)
        _add(zipped, CODE, package, {"share"})
        for name in SHIPPED:
            _add(zipped, f"{CODE}/share/{name}", shipped / name)


def _add(zipped: zipfile.ZipFile, inside: str, folder: Path, without: Iterable[str] = ()) -> None:
    for path in _below(folder, NOT_OURS.union(without) if inside != TREE else frozenset()):
        mode = path.lstat().st_mode
        name = f"{inside}/{path.relative_to(folder).as_posix()}"
        if stat.S_ISLNK(mode):
            zipped.writestr(_entry(name, stat.S_IFLNK | 0o777), str(path.readlink()))
        elif stat.S_ISREG(mode):
            executable = 0o111 if mode & 0o100 else 0
            with zipped.open(_entry(name, stat.S_IFREG | 0o644 | executable), "w") as to, path.open("rb") as source:
                while piece := source.read(1 << 20):
                    to.write(piece)


def _below(folder: Path, without: frozenset[str]) -> Iterator[Path]:
    """Yield all files and links below a folder, by name, without folders of these names."""
    for top, folders, files in os.walk(folder):
        links = [name for name in folders if Path(top, name).is_symlink()]
        folders[:] = sorted(set(folders).difference(without, links))
        yield from (Path(top, name) for name in sorted([*files, *links]))


def _entry(name: str, mode: int) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, DATE)
    entry.create_system = 3  # Unix on every system, so that the mode counts
    entry.external_attr = mode << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry
