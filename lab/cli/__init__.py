"""Run the command line, `lab`. What it says and its exit codes are a contract (docs/command-line.md)."""

from __future__ import annotations

import errno
import gc
import json
import os
import sys

from lab.errors import LabError, MachineError

# What a system call says when the machine fails it: a full or broken disk, no right to write, no memory, no process.
_MACHINES = {
    *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS, errno.ESTALE, errno.EACCES, errno.EPERM),
    *(errno.ENOMEM, errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOLCK, errno.EINTR),
}


BLAS = "OPENBLAS_NUM_THREADS"  # nothing here multiplies matrices: numpy's threads for that, also in helpers, cost 3 %
PLUGINS = (
    "PYDANTIC_DISABLE_PLUGINS"  # a topology means what we say; to look for plugins is to read every package's list
)


def main() -> None:
    """Run the command line. Every error is one message; a traceback would be a mistake of ours."""
    os.environ.setdefault(BLAS, "1")
    os.environ.setdefault(PLUGINS, "__all__")
    gc.set_threshold(100_000)  # most objects of a start stay: looking for garbage among them took a tenth of its time
    try:
        from lab.cli.assembly import assembled

        try:
            assembled(*sys.argv[1:2])()
        finally:
            sys.stdout.flush()  # what a full disk says comes here, not when Python has ended
    except LabError as error:
        _report(error)
        sys.exit(error.exit_code)
    except ImportError as error:
        if (error.name or "").partition(".")[0] == "lab":
            raise
        _report(MachineError(_lacking(error)))
        sys.exit(MachineError.exit_code)
    except BrokenPipeError:  # the reader of our output, `head` say, has had enough
        _silence()
        sys.exit(0)
    except (OSError, MemoryError) as error:
        if isinstance(error, OSError) and error.errno not in _MACHINES:
            raise
        try:
            _report(MachineError(_failed(error)))
            sys.stdout.flush()
        except OSError:  # it is standard output that fails
            _silence()
        sys.exit(MachineError.exit_code)
    finally:
        gc.freeze()  # nor is there garbage to look for in what goes with the process


def _silence() -> None:
    """Take no more output: what is left of it goes nowhere when Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _lacking(error: ImportError) -> str:
    """Say which package there is not, or cannot be read."""
    if isinstance(error, ModuleNotFoundError):
        return f"{sys.executable} has no package {error.name}, which this needs"
    first = error.__cause__ or error  # numpy has a page of advice on it
    return f"{sys.executable} cannot load a package: {first}"


def _failed(error: OSError | MemoryError) -> str:
    """Say what the machine could not do."""
    if isinstance(error, MemoryError):
        return "this machine has no memory left"
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{error.strerror}: the machine fails, or forbids it; finished trials are kept"


def _report(error: LabError) -> None:
    from lab.spec.errors import SpecError

    if "--json" in sys.argv:
        problems = error.problems if isinstance(error, SpecError) else ()
        plain = [{"file": each.file, "line": each.line, "message": each.message} for each in problems]
        print(json.dumps({"errors": plain or [{"file": None, "line": None, "message": str(error)}]}, indent=1))
    elif isinstance(error, SpecError):
        print(error, file=sys.stderr)
    else:
        print(f"lab: {error}", file=sys.stderr)
