"""Find what a Mininet script uses but cannot have in a guest, and tell the user what to do instead."""

from __future__ import annotations

import ast
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from lab.ext.mininet.packing import PackedScript

LIMITED = "CPULimitedHost"
CPU = "CPU limits have no effect in virtual time, where computing takes no time; remove the limit"
WINDOWS = "a guest has no windows; print, write plots to files, or use `lab mininet --clock real` for a prompt"
MACHINES = "a guest cannot reach other machines; run all parts of the script in one network"
NETWORK = "a guest has no Internet; put the files that the script needs into its folder"
FLOOD = (
    "if the sender's link has a delay, iperf3 sends over UDP without a limit until its clock moves, then pauses; use "
    "`iperf -u -b RATE`"
)
# What cannot work: names that a script uses, keyword arguments, modules, and commands in its texts
NAMES = {
    **dict.fromkeys(("makeTerm", "makeTerms", "runX11", "startXterms"), WINDOWS),
    **dict.fromkeys(("MininetCluster", "RemoteHost", "RemoteOVSSwitch", "RemoteLink"), MACHINES),
    **dict.fromkeys(("NOX", "Ryu"), "the userland has no such controller; use `Controller`, or start your own"),
    "IVSSwitch": "the userland has no Indigo switch; use OVSSwitch",
}
KEYWORDS = {"cpu": CPU, "cores": CPU, "xterms": WINDOWS}
UNLIMITED = ("None", "False", "-1")  # values of these keyword arguments that ask for nothing
MODULES = {"tkinter": WINDOWS, "Tkinter": WINDOWS}
COMMANDS = (
    (re.compile(r"\b(?:pip3?|apt|apt-get|yum|dnf) install\b|\bgit clone\b"), NETWORK),
    (re.compile(r"\biperf3 (?:[^|;&]* )?(?:-u|--udp)\b"), FLOOD),
    (re.compile(r"\btcp_probe\b"), "Linux has had no tcp_probe since 4.16; use `ss --info`"),
    (re.compile(r"^\s*(?:sudo )?(?:xterm|gnome-terminal|wireshark)\b"), WINDOWS),
)
OFFERED = "matplotlib, networkx, numpy, pandas, psutil, scapy and termcolor"
# Patterns of a failed script's last messages
FAILURES = (
    (r"cgroupGet|cgroupSet|chrt|cgexec", CPU),
    (r"[Tt]kinter|xterm|DISPLAY", WINDOWS),
    (r"interface? .* does not exist|eth\d+ does not exist", "a guest has no network card: all its links are Mininet's"),
    (r"\bgetent\b|No route to host", MACHINES),
)
COMPUTED = "..."
PROMPT = "mininet>"
LAST_LINES = 20  # of a failed script's output, in which its reason stands


def foreseen(packed: PackedScript, folder: Path, has_module: Callable[[str], bool]) -> Iterator[str]:
    """Yield a line for each thing that a script uses and cannot have: FILE:LINE, the call, and what to do instead.

    `has_module` tells whether the guest's Python has a module. `folder` is the script's folder.
    """
    own = {Path(name).parts[0].removesuffix(".py") for name in packed.contents}
    trees = dict(_modules(packed))
    is_limited = any(_name(node) == LIMITED for tree in trees.values() for node in ast.walk(tree))
    for name, tree in trees.items():
        found: dict[str, tuple[int, str]] = {}  # the first line of each call, and what to do instead
        for line, call, instead in (*_calls(tree, is_limited), *_imports(tree, own, has_module)):
            found.setdefault(call, (line, instead))
        for call, (line, instead) in sorted(found.items(), key=lambda each: each[1]):
            yield f"{folder / name}:{line}: {call}: {instead}"


def _modules(packed: PackedScript) -> Iterator[tuple[str, ast.Module]]:
    """Yield the script and the modules beside it that it imports, directly or through others. Other files are data."""
    left, seen = [packed.name], set[str]()
    while left:
        name = left.pop()
        if name in seen or name not in packed.contents or not (tree := _tree(name, packed.contents[name])):
            continue
        seen.add(name)
        yield name, tree
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                base = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
                paths = [each.replace(".", "/") for each in (*base, *(alias.name for alias in node.names))]
                left += [name for path in paths for name in (f"{path}.py", f"{path}/__init__.py")]
                left += [f"{path}/{alias.name}.py" for path in paths[: len(base)] for alias in node.names]


def has_module(tree: Path) -> Callable[[str], bool]:
    """Return a function that tells whether the Python of a userland, whose files are in `tree`, has a module."""
    library = next((tree / "usr/lib").glob("python3.*"))
    places = (library, library / "lib-dynload", tree / "usr/lib/python3/dist-packages")

    def has(name: str) -> bool:
        return name in (*sys.builtin_module_names, "distutils") or any(
            (place / name).is_dir() or (place / f"{name}.py").exists() or any(place.glob(f"{name}.*.so"))
            for place in places
        )

    return has


def instead_of(output: str, exit_code: int) -> str:
    """Return what a script that ended with this output cannot have, with what to do instead, or "" if unknown."""
    if output.rstrip().endswith(PROMPT):
        return "Mininet's prompt gets no input here; write CLI(net, script='commands.mn'), or use --clock real"
    last = "\n".join(output.splitlines()[-LAST_LINES:]) if exit_code else ""
    return next((instead for pattern, instead in FAILURES if re.search(pattern, last)), "")


def _tree(name: str, content: bytes) -> ast.Module | None:
    if name.endswith(".py") or (content.split(b"\n", 1)[0].startswith(b"#!") and b"python" in content[:80]):
        with suppress(SyntaxError, ValueError, RecursionError, MemoryError), warnings.catch_warnings(action="ignore"):
            return ast.parse(content)
    return None


def _name(node: ast.AST) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _calls(tree: ast.Module, is_limited: bool) -> Iterator[tuple[int, str, str]]:
    """Yield names, keyword arguments and commands that cannot work, with their lines and what to do instead."""
    expressions = (node.value for node in ast.walk(tree) if isinstance(node, ast.Expr))
    remarks = {id(node) for node in expressions if not isinstance(node, ast.Call)}  # including docstrings
    for node in ast.walk(tree):
        match node:
            case ast.Name() | ast.Attribute() if (name := _name(node)) in NAMES:
                yield node.lineno, name, NAMES[name]
            case ast.keyword(arg=str(name)) if name in KEYWORDS and (is_limited or KEYWORDS[name] is not CPU):
                if ast.unparse(node.value) not in UNLIMITED:
                    yield node.value.lineno, f"{name}=", KEYWORDS[name]
            case ast.Constant() | ast.JoinedStr() | ast.Call() | ast.List() if id(node) not in remarks:
                text = _text(node)
                for pattern, instead in COMMANDS:
                    if found := pattern.search(text):
                        yield node.lineno, found[0].strip(), instead


def _text(node: ast.AST) -> str:
    """Return the text of a string, or of the words of a command. Computed parts are shown as "..."."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(part.value if _is_text(part) else COMPUTED for part in parts)  # type: ignore[attr-defined]
        case ast.Call(args=parts) | ast.List(elts=parts):
            return " ".join(
                _text(part) if isinstance(part, ast.JoinedStr) or _is_text(part) else COMPUTED for part in parts
            )
    return COMPUTED


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _imports(tree: ast.AST, own: set[str], has_module: Callable[[str], bool]) -> Iterator[tuple[int, str, str]]:
    """Yield imports of missing modules. Imports whose failure the script handles are left out."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Try):
            for each in (*node.handlers, *node.orelse, *node.finalbody):
                yield from _imports(each, own, has_module)
            continue
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module or ""]
        for name in (name.partition(".")[0] for name in names):
            if name in MODULES:
                yield node.lineno, f"import {name}", MODULES[name]  # type: ignore[attr-defined]
            elif name not in own and not has_module(name):
                missing = f"the userland has no module {name}, and pip cannot be used in a guest; put the module beside"
                yield node.lineno, f"import {name}", f"{missing} the script, or use {OFFERED}"  # type: ignore[attr-defined]
        yield from _imports(node, own, has_module)
