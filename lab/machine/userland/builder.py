"""Build a userland once from locked packages, without root: fetch, check and unpack them, and verify every byte."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from lab.base import cache as caches
from lab.base.building import UNFINISHED, Progress, alone, terminable
from lab.base.moving import move
from lab.errors import MachineError
from lab.machine.userland import cache, deb, index, lock, recipe
from lab.machine.userland.cache import MANIFEST, TREE, Userland
from lab.machine.userland.index import Keys
from lab.machine.userland.lock import Lock, Name, Package
from lab.machine.userland.manifest import manifest
from lab.machine.userland.mirror import Mirrors, NotFetched, chosen, moment
from lab.machine.userland.program import LAUNCHERS, compile_python, gcc, launcher
from lab.machine.userland.recipe import UserlandRecipe
from lab.machine.userland.tree import Tree

ROOM = 2 << 30  # bytes that a build needs temporarily
CONNECTIONS = 4
LIBRARY = ("-O2", "-Wall", "-Werror", "-fPIC", "-shared", "-nostdlib", "-Wl,--build-id=none")
UNKNOWN = "0" * 64  # the tree of a lock that is not finished


class PackageGone(MachineError):
    """Raised if the mirrors no longer have a package that a lock names."""


def build(name: Name, progress: Progress) -> Userland:
    """Return the userland of this lock, from the cache or newly built, which takes a minute and needs the network.

    Raises PackageGone, InputError (the lock has a mistake) and MachineError (a wrong hash, a full disk, or a tree that
    differs from the lock).
    """
    wanted = lock.locked(name)
    found = cache.load(wanted.id)
    if found is not None:
        return found
    made, mirrors = recipe.read(name), chosen(wanted.snapshot)
    libraries = _compiled(made, progress)
    with alone(cache.folder(), progress):
        return cache.load(wanted.id) or _make(made, libraries, wanted, mirrors, progress)


def keys(progress: Progress, file: Path | None = None) -> Keys:
    """Return the keys that check an archive's index: the distribution's keys, or the keys in `file`.

    Raises the errors of `build`.
    """
    return Keys(build("keyring", progress).tree, file)


def renew(name: Name, progress: Progress, keyring: Path | None = None, *, packages: bool = True) -> Lock:
    """Rewrite the lock of a userland with the suite's current packages, and return it.

    Without `packages`, the packages do not change; use this after a change to the recipe or to the code that builds
    trees. `renew` also builds the userland. Raises MachineError if the index is not signed with a key of the
    distribution or of `keyring`, or is older than the lock's index.
    """
    made = recipe.read(name)
    file = lock.file_of(name)
    old = lock.locked(name) if file.exists() else None
    if packages or old is None:
        snapshot = moment()
        mirrors = chosen()
        progress.say(f"reading what {made.suite} offers")
        offered = index.fetch(mirrors, made.suite, keys(progress, keyring))
        if old is not None and offered.date < old.date:
            raise MachineError(f"the mirror's index is of {offered.date}, older than the lock's of {old.date}")
        new = Lock(
            made.suite, offered.date, snapshot, UNKNOWN, index.needed(offered.offers, made.packages, made.without)
        )
    else:
        new = replace(old, tree=UNKNOWN)
        mirrors = chosen(new.snapshot)
    libraries = _compiled(made, progress)
    with alone(cache.folder(), progress):
        userland = _make(made, libraries, new, mirrors, progress)
    whole = (userland.tree.parent / MANIFEST).read_bytes()
    new = replace(new, tree=hashlib.sha256(whole).hexdigest())
    file.write_text(lock.render(new), encoding="utf-8")
    return new


def _compiled(made: UserlandRecipe, progress: Progress) -> dict[str, bytes]:
    """Compile the recipe's library sources with the locked compiler, and return the libraries' contents by path."""
    if not made.libraries:
        return {}
    compiler, found = build("compiler", progress), {}
    for path, source in made.libraries.items():
        with tempfile.TemporaryDirectory(prefix="replab-library-") as folder:
            (Path(folder) / "library.c").write_text(source, encoding="utf-8")
            done = gcc(compiler.tree, Path(folder), *LIBRARY, "-o", "library.so", "library.c")
            if done.returncode:
                raise MachineError(f"{path} of {made.name}.toml does not compile: {done.stderr.strip()}")
            found[path] = (Path(folder) / "library.so").read_bytes()
    return found


def _make(
    made: UserlandRecipe, libraries: Mapping[str, bytes], wanted: Lock, mirrors: Mirrors, progress: Progress
) -> Userland:
    """Build the tree in a new folder. Keep it if the lock names this tree, or no tree."""
    home = cache.folder()
    if shutil.disk_usage(home).free < ROOM:
        raise MachineError(f"making a userland temporarily needs {ROOM >> 30} GiB, and {home} has less")
    place = home / f"{UNFINISHED}{made.name}-{os.getpid()}"
    with terminable():
        try:
            place.mkdir()
            with _fetched(wanted.packages, mirrors) as files:
                _fill(place / TREE, made, libraries, wanted, files, progress)
            progress.say(f"checking the userland {made.name}")
            text = manifest(place / TREE)
            found = hashlib.sha256(text.encode()).hexdigest()
            if wanted.tree not in (UNKNOWN, found):
                raise MachineError(
                    f"the packages of {made.name}.lock made the tree {found[:16]} and not {wanted.id}: the recipe or "
                    "the code that makes trees has changed, and `lab userland lock --keep` notes that in the lock"
                )
            (place / MANIFEST).write_text(text, encoding="utf-8")
            ready = home / found[:16]
            if cache.load(found[:16]) is None:
                move(place, ready)
        except OSError as error:
            raise MachineError(f"cannot make a userland in {home}: {error.strerror}") from None
        finally:
            shutil.rmtree(place, ignore_errors=True)
    return Userland(found[:16], (ready / TREE).absolute())


@contextmanager
def _fetched(packages: Sequence[Package], mirrors: Mirrors) -> Iterator[Iterator[Path]]:
    """Yield the package files as they arrive.

    The files are downloaded once for all userlands, but checked on every use. While the caller unpacks a file, the next
    files are fetched.
    """
    store = caches.folder("packages")
    store.mkdir(parents=True, exist_ok=True)
    for stale in store.glob(".partial-*"):  # of a killed process: no other process downloads now
        stale.unlink()

    def fetched(package: Package) -> Path:
        file = store / f"{package.name}_{package.sha256[:16]}.deb"
        if not file.is_file() or hashlib.sha256(file.read_bytes()).hexdigest() != package.sha256:
            try:
                mirrors.download(package.path, package.sha256, file)
            except NotFetched as error:
                gone = f"package {package.name} {package.version}: {error}"
                raise PackageGone(f"{gone}; `lab userland lock` makes a new userland from today's packages") from None
        return file

    with ThreadPoolExecutor(CONNECTIONS) as pool:
        try:
            yield pool.map(fetched, packages)
        finally:
            pool.shutdown(cancel_futures=True)


def _fill(
    target: Path,
    made: UserlandRecipe,
    libraries: Mapping[str, bytes],
    wanted: Lock,
    files: Iterable[Path],
    progress: Progress,
) -> None:
    progress.say(f"fetching and unpacking the userland {made.name}")
    tree = Tree(target, made.remove)
    total, done = sum(each.size for each in wanted.packages), 0
    for package, file in zip(wanted.packages, files, strict=True):
        with deb.contents(file) as tar:
            tree.add(package.name, tar)
        done += package.size
        progress.step(done, total)
    tree.merge()
    for path in made.folders:
        tree.make_folder(path, made.name)
    for path, to in made.links.items():
        tree.link(path, to, made.name)
    for path, to in made.outward.items():
        tree.lead_out(path, to, made.name)
    for path, text in made.files.items():
        tree.write(path, text.encode(), False, made.name)
    for path, text in made.programs.items():
        tree.write(path, text.encode(), True, made.name)
    for path, content in libraries.items():
        tree.write(path, content, True, made.name)
    launched = {**{name: f"usr/bin/{name}" for name in made.commands}, **made.launchers}
    for name, program in launched.items():
        tree.write(f"{LAUNCHERS}/{name}", launcher(*program.split(" ", 1)).encode(), True, made.name)
    if made.bytecode:
        progress.say("compiling its Python")
        compile_python(target, made.bytecode, target)
    tree.settle(int(datetime.fromisoformat(wanted.date).timestamp()))
