"""Write a file completely or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from lab.base.moving import move
from lab.errors import MachineError


@contextmanager
def whole(target: Path) -> Iterator[Path]:
    """Yield the path of a temporary file, which replaces `target` afterwards.

    After an error, the temporary file is removed. A device or a pipe is not replaced. Instead, the function yields its
    own path. Raises MachineError if the file cannot be written.
    """
    if target.exists() and not (target.is_file() or target.is_dir()):
        yield target
        return
    place = target.resolve()
    try:
        with TemporaryDirectory(dir=place.parent, prefix=".lab-writing-") as folder:
            fresh = Path(folder) / f"fresh{target.suffix}"
            yield fresh
            move(fresh, place)
    except OSError as error:
        raise MachineError(f"cannot write {target}: {error.strerror or error}") from None


def write(content: str | bytes, file: Path) -> None:
    """Write text or bytes to a file, and make its folder. Raises MachineError if the file cannot be written."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with whole(file) as fresh:
            fresh.write_bytes(content.encode() if isinstance(content, str) else content)
    except OSError as error:
        raise MachineError(f"cannot write {file}: {error.strerror or error}") from None
