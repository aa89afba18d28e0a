"""Run a user's Python file, and report any exception as a mistake at its line."""

from __future__ import annotations

import ast
import builtins
import inspect
import re
import sys
import traceback
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType, ModuleType, TracebackType
from typing import Any

from lab.guest.mininet import make_importable
from lab.guest.typed import FieldError
from lab.spec.errors import Problem, SpecError, display, file_bytes, instead, suggestion, told, unreadable

ADVICE = {  # for a module that cannot be imported
    "lab": "import all names from `lab`, as in `from lab import Arm, Bulk, Experiment, metric`",
    "mininet": "run `sudo apt-get install mininet` or `make setup-host`",
}
_IMPORTS_MININET = re.compile(rb"^[ \t]*(?:from|import)[ \t]+mininet\b", re.MULTILINE)
_MAKES_NETWORK = re.compile(rb"\bMininet\w*\(")
_FOR_THE_LAB = re.compile(rb"\b(?:topos|EXPERIMENT)\b")
_FROM_FILE = re.compile(r"(?<=') \(/.*\)$")  # where the module of a name that cannot be imported is
_MISSING = re.compile(r"(\w+)(?:\.__init__)?\(\) missing \d+ required \S+ arguments?: (.*)")


def source_of(path: Path) -> bytes:
    """Return the contents of a Python file. Raises SpecError if the file cannot be read."""
    try:
        return file_bytes(path)
    except OSError as error:
        raise SpecError([Problem(display(path), 1, unreadable(path, error))]) from error


def refuse_script(source: bytes, path: Path, alternative: str = "") -> None:
    """Raise SpecError for a script that builds and runs a Mininet network itself. Such a script should run in a guest.

    `alternative` follows the advice.
    """
    if _IMPORTS_MININET.search(source) and _MAKES_NETWORK.search(source) and not _FOR_THE_LAB.search(source):
        message = f"a Mininet script; run `lab mininet {display(path)}`{alternative}"
        raise SpecError([Problem(display(path), 1, message)])


def run(source: bytes, path: Path) -> ModuleType:
    """Run `source` and return its module.

    Compiling `source` directly ensures that exactly the hashed text runs, and that no bytecode is written. Raises
    SpecError for any exception of the source.
    """
    if b"\0" in source:
        raise SpecError([Problem(display(path), 1, "not Python: it has null bytes; name a text file")])
    make_importable()
    module = ModuleType(path.stem)
    module.__file__ = str(path)
    with blamed(path):
        exec(compile(source, str(path), "exec", dont_inherit=True), module.__dict__)
    return module


@contextmanager
def blamed(path: Path) -> Iterator[None]:
    """Convert any exception within this context to a SpecError, at the line of `path` that led to the exception."""
    try:
        yield
    except SyntaxError as error:
        raise SpecError([Problem(display(path), error.lineno or 1, f"not Python: {error.msg}")]) from error
    except (Exception, SystemExit) as error:
        frame, line = _place(error.__traceback__, path)
        call = _Call(path, line, frame)
        if isinstance(error, FieldError):
            line = min((call.keywords[name] for name in error.fields if name in call.keywords), default=line)
        raise SpecError([Problem(display(path), line, _message(error, call))]) from error


def line_of(path: Path, names: Collection[str], keyword: str) -> int:
    """Return the line of the first argument `keyword` in a call of one of `names`, else of the first call, else 1."""
    calls = [node for node in ast.walk(ast.parse(path.read_bytes())) if isinstance(node, ast.Call)]
    called = [node for node in calls if isinstance(node.func, ast.Name) and node.func.id in names]
    given = [each.value.lineno for node in called for each in node.keywords if each.arg == keyword]
    return next(iter([*given, *(node.lineno for node in called)]), 1)


def line_of_text(path: Path, text: str) -> int:
    """Return the line number of the first literal that is `text`, else 1."""
    nodes = (node for node in ast.walk(ast.parse(path.read_bytes())) if isinstance(node, ast.Constant))
    return min((node.lineno for node in nodes if node.value == text), default=1)


class _Call:
    """Holds the outermost call that begins on a line of the file, with the line of each keyword."""

    def __init__(self, path: Path, line: int, frame: FrameType | None) -> None:
        self.frame = frame
        self.keywords: dict[str, int] = {}
        self.functions: list[ast.expr] = []
        with suppress(OSError, SyntaxError, ValueError):
            for node in ast.walk(ast.parse(path.read_bytes())):
                if isinstance(node, ast.Call) and node.lineno == line:
                    self.functions.append(node.func)
                    self.keywords = {each.arg: each.value.lineno for each in node.keywords if each.arg} | self.keywords

    def accepts(self, keyword: str) -> list[str]:
        """Return the keyword arguments that the functions called on the line accept."""
        found: list[str] = []
        if self.frame is None:
            return found
        for function in self.functions:
            with suppress(Exception):  # the user's names may be anything
                code = compile(ast.Expression(function), "", "eval")
                called = eval(code, self.frame.f_globals, self.frame.f_locals)
                found += inspect.signature(called).parameters
        return [] if keyword in found else found


def _place(trace: TracebackType | None, path: Path) -> tuple[FrameType | None, int]:
    """Return the innermost frame in the file, and its line."""
    frames = [(frame, line) for frame, line in traceback.walk_tb(trace) if frame.f_code.co_filename == str(path)]
    return frames[-1] if frames else (None, 1)


def _message(error: BaseException, call: _Call) -> str:
    """Return a message with the mistake, and a suggestion for the intended name."""
    text = str(error)
    if isinstance(error, ValueError):
        return told(error)
    described = f"{type(error).__name__}: {_FROM_FILE.sub('', text)}"
    if isinstance(error, TypeError) and (match := re.search(r"nexpected keyword argument '(\w+)'", text)):
        known = call.accepts(match[1])
        return f"unknown argument '{match[1]}'{instead(match[1], known)}"
    if isinstance(error, TypeError) and (match := _MISSING.search(text)):
        several = " and " in match[2]
        return f"{match[1]}: {match[2]} {'are missing; give them' if several else 'is missing; give it'}"
    if isinstance(error, ModuleNotFoundError) and (root := (error.name or "").partition(".")[0]) in ADVICE:
        return f"{described}; {ADVICE[root]}"
    return described + _hint(error, call.frame)


def _hint(error: BaseException, frame: FrameType | None) -> str:
    known: Any = ()
    name = str(getattr(error, "name", ""))
    if isinstance(error, NameError) and name in dir(sys.modules.get("lab")):
        return "; import it from `lab`"
    if isinstance(error, NameError) and frame:
        known = [*frame.f_locals, *frame.f_globals, *dir(builtins)]
    elif isinstance(error, AttributeError):
        known = [each for each in dir(error.obj) if not each.startswith("_")]
    elif isinstance(error, ModuleNotFoundError):
        known = ADVICE
    elif isinstance(error, ImportError) and (match := re.match(r"cannot import name '(\w+)'", str(error))):
        known, name = dir(sys.modules.get(name)), match[1]
    return suggestion(name, known)
