"""Run the command line, `lab`. Its output and exit codes are a contract (docs/command-line.md)."""

from __future__ import annotations

import errno
import gc
import io
import json
import os
import re
import sys
from typing import Any, TypeGuard

from lab.base import terminal
from lab.errors import InputError, LabError, MachineError

# Errors of system calls for which the machine is the reason: a full or broken disk, no permission, memory or process.
_MACHINES = {
    *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS, errno.ESTALE, errno.EACCES, errno.EPERM),
    *(errno.ENOMEM, errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOLCK, errno.EINTR),
}


# Errors for a path that the user gave -> what is wrong, and what to do.
_PATHS = {
    errno.ENAMETOOLONG: "the name is too long; choose a shorter one",
    errno.ENOTDIR: "a part of this path is a file; name a folder",
    errno.EEXIST: "this is not a folder; name one",
    errno.EISDIR: "this is a folder; name a file",
    errno.ELOOP: "too many symbolic links; name the place itself",
}

# Patterns of pydantic's messages about an option's value -> our words.
_VALUES = {
    r"Input should be a valid integer.*": "it is not a whole number",
    r"Input should be a valid number.*": "it is not a number",
    "Value error, ": "",
    r"Input should be greater than or equal to (\S+)": r"it is less than \1",
}

BLAS = "OPENBLAS_NUM_THREADS"  # numpy's threads for matrices, which the lab does not use, would cost 3 %
PLUGINS = (
    "PYDANTIC_DISABLE_PLUGINS"  # plugins must not change topologies, and searching for them reads every package's list
)


def main() -> None:
    """Run the command line. Every error is printed as one message. A traceback is a bug in the lab."""
    os.environ.setdefault(BLAS, "1")
    os.environ.setdefault(PLUGINS, "__all__")
    _open_streams()
    gc.set_threshold(100_000)  # most objects of the start stay, and garbage collection took a tenth of the time
    try:
        from lab.cli.quick import quickly
        from lab.cli.renaming import renamed

        arguments = renamed(sys.argv[1:])
        try:
            code = quickly(arguments)
            if code is None:
                code = _slowly(arguments)
        finally:
            sys.stdout.flush()  # so that the error of a full disk appears here, not at Python's exit
        if code:
            sys.exit(code)
    except LabError as error:
        _report(error)
        sys.exit(error.exit_code)
    except ImportError as error:
        if (error.name or "").partition(".")[0] == "lab":
            raise
        _report(MachineError(_lacking(error)))
        sys.exit(MachineError.exit_code)
    except BrokenPipeError:  # the reader of the output, such as `head`, has closed it
        _silence()
        sys.exit(0)
    except (OSError, MemoryError) as error:
        if isinstance(error, OSError) and error.errno not in {*_MACHINES, *_PATHS}:
            raise
        if _is_path(error):
            found: LabError = InputError(f"{error.filename}: {_PATHS[error.errno or 0]}")
        else:
            found = MachineError(_failed(error))
        try:
            _report(found)
            sys.stdout.flush()
        except OSError:  # standard output itself fails
            _silence()
        sys.exit(found.exit_code)
    finally:
        gc.freeze()  # the process ends, so collecting garbage is useless


def _slowly(arguments: list[str]) -> int | None:
    """Run any command line, with Typer. Return the exit code."""
    from lab.cli.assembly import assembled

    misuse = _misuse()
    try:
        code: int | None = assembled(*arguments[:1])(arguments, standalone_mode=False)
    except misuse as error:
        code = _misused(error)
    return code


def _open_streams() -> None:
    """Discard output to closed streams, and print characters that are missing in the encoding as numbers.

    Otherwise, a file opened later would get the descriptor of a closed stream, and child programs would write to the
    file.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(nowhere, True)
            setattr(sys, name, os.fdopen(nowhere, mode, encoding="utf-8"))
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # like Python's stderr


def _is_path(error: OSError | MemoryError) -> TypeGuard[OSError]:
    """Return whether the error is about a path, and its message names the path."""
    return isinstance(error, OSError) and error.errno in _PATHS and bool(error.filename)


def _misuse() -> type[Exception]:
    """Return the exception class for a wrong command line. Typer before 0.29, as in bundle userlands, uses click's
    class.
    """
    try:
        from typer.exceptions import TyperException
    except ImportError:
        from click import ClickException

        return ClickException
    return TyperException


def _misused(error: Any) -> int:
    """Report a wrong command line in one line, or show the help if the user typed only a command name."""
    message, context = error.format_message(), getattr(error, "ctx", None)
    if context and message == context.get_help():
        print(message, file=sys.stderr)
    else:
        of = context.command_path if context else "lab"
        for form, words in _VALUES.items():
            message = re.sub(form, words, message)
        said = re.sub(r" \(Possible options: ([^,]*)\)", r". Did you mean \1?", " ".join(message.split()))
        said = re.sub(r" \(Possible options: (.*)\)", r". Did you mean one of \1?", said)
        wrong, guess, known = said.rstrip(".").partition(". Did you mean")
        hint = f"did you mean{known}" if guess else f"`{of} --help` shows what it takes"
        _report(InputError(f"{wrong[:1].lower()}{wrong[1:]}; {hint}"))
    return int(error.exit_code)


def _silence() -> None:
    """Discard all further output, including the output that Python flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _lacking(error: ImportError) -> str:
    """Return a message about a missing package, with its install command, or about an unreadable package."""
    if isinstance(error, ModuleNotFoundError):
        return f"{sys.executable} needs the package {error.name} for this{_installs(error.name or '')}"
    first = error.__cause__ or error  # numpy's own message has a page of advice
    return f"{sys.executable} cannot load a package: {first}"


def _installs(module: str) -> str:
    """Return the command that installs a dependency of the lab. Return "" for other packages, or if pip did not install
    the lab.
    """
    from importlib.metadata import PackageNotFoundError, requires

    wanted = re.compile(rf"{module.replace('_', '-')}\b[^;]*(?:;.*extra == .(\w+).)?")
    try:
        found = next(filter(None, map(wanted.fullmatch, requires("replab") or ())), None)
    except PackageNotFoundError:  # the lab of a bundle
        found = None
    if found is None:
        return ""
    return f"; run {sys.executable} -m pip install 'replab{f'[{found[1]}]' if found[1] else ''}'"


def _failed(error: OSError | MemoryError) -> str:
    """Return a message that tells which operation failed on the machine."""
    if isinstance(error, MemoryError):
        return "this machine has no memory left"
    where = f"{error.filename}: " if error.filename else ""
    advice = "check the disk and its permissions (finished trials are kept)"
    return f"{where}{error.strerror}: the machine fails, or forbids it; {advice}"


def _report(error: LabError) -> None:
    from lab.spec.errors import SpecError

    if "--json" in sys.argv:
        plain = [each.plain() for each in error.problems] if isinstance(error, SpecError) else []
        print(json.dumps({"errors": plain or [{"file": None, "line": None, "message": str(error)}]}, indent=1))
    elif isinstance(error, SpecError):
        for problem in error.problems:
            terminal.write(f"lab: {problem}", sys.stderr)
    else:
        terminal.write(f"lab: {error}", sys.stderr)
