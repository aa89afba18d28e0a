"""Replace gcc as the compiler of a kernel's objects, and read the headers that most objects include only once.

Reading headers, mostly the same ones, takes nine tenths of a build. `python precompiled.py OPTIONS` replaces `gcc
OPTIONS`. With MAKE in the environment, it builds a precompiled header for all objects that have the same options as the
object in the call. Without MAKE, such an object starts from that header. An object that defines a macro before an
include does not start from that header, since the macro may be meant for a header. All other calls are passed to gcc
unchanged.

A kernel build runs this file by its path, isolated (`python -I -S`), more than a thousand times, so it imports little.
"""

from __future__ import annotations

import os
import sys

__all__ = ["MAKE", "Call", "defines_before_including", "main"]

MAKE = "LAB_MAKE_PRECOMPILED"
HEADERS = ("linux/module.h", "linux/mm.h", "linux/bpf.h", "linux/netdevice.h", "net/sock.h")
SHARED = "lab-shared.h"  # in the tree's top folder, where make runs
STAMP = f"{SHARED}.stamp"


class Call:
    """Holds a parsed gcc call: an object's own files and names, and the options that the object shares with others."""

    def __init__(self, arguments: list[str]) -> None:
        self.source = self.output = self.listed = ""
        self.included: list[str] = []  # by an option
        self.names: list[str] = []  # macros that name the object
        self.options: list[str] = []
        rest = iter(arguments)
        for each in rest:
            if each == "-include":
                self.included.append(next(rest, ""))
            elif each == "-o":
                self.output = next(rest, "")
            elif each.startswith("-Wp,-MMD,"):
                self.listed = each.removeprefix("-Wp,-MMD,")
            elif each.startswith(("-DKBUILD_", "-D__KBUILD_")):
                self.names.append(each.removeprefix("-D"))
            elif each.endswith(".c") and not each.startswith("-"):
                self.source = each
            elif each != "-fdiagnostics-color":  # ccache's
                self.options.append(each)
        wanted = {"-c", "-D__KERNEL__"} <= set(self.options)
        self.is_object = wanted and bool(self.source and self.output and self.listed)

    def is_alike(self) -> bool:
        """Return whether the precompiled header exists and has the same options as this call."""
        try:
            with open(f"{SHARED}.options", encoding="utf-8") as file:
                return file.read() == self.kind
        except FileNotFoundError:
            return False

    @property
    def kind(self) -> str:
        """Return the options that similar objects share, sorted except for the order of include folders."""
        return "\n".join(sorted(self.options, key=lambda each: "-I" if each.startswith("-I") else each))


def main(arguments: list[str]) -> int:
    """Compile, and return gcc's exit status."""
    call = Call(arguments)
    if call.is_object and MAKE in os.environ:
        _precompile(call)
    elif call.is_object and call.is_alike() and not defines_before_including(call.source) and _from_precompiled(call):
        return 0
    return _gcc(*arguments)


def defines_before_including(source: str) -> bool:
    """Return whether a file defines, or undefines, a macro before it includes another file."""
    defined = False
    with open(source, encoding="latin-1") as file:
        for line in file:
            directive = line.lstrip()
            if directive.startswith("#"):
                word = directive[1:].lstrip()
                if defined and word.startswith("include"):
                    return True
                defined = defined or word.startswith(("define", "undef"))
    return False


def _precompile(call: Call) -> None:
    with open(SHARED, "w", encoding="utf-8") as file:
        file.writelines(f'#include "{each}"\n' for each in call.included)
        file.writelines(f"#include <{each}>\n" for each in HEADERS)
    listed = f"{SHARED}.d"
    if _gcc(*call.options, f"-Wp,-MMD,{listed}", "-o", f"{SHARED}.gch", "-x", "c-header", SHARED):
        return
    _write_stamp(_prerequisites(listed)[1])
    with open(f"{SHARED}.options", "w", encoding="utf-8") as file:
        file.write(call.kind)


def _write_stamp(headers: list[str]) -> None:
    """Write a stamp that represents all these headers in the dependency lists of objects.

    The stamp changes if a header changes. The stamp names the configuration options that the headers use. kbuild looks
    for these names in an object's dependencies, and reading a thousand headers for each object took a fifth of the
    build time.
    """
    import hashlib
    import re

    options, digest = set(), hashlib.sha256()
    for header in headers:
        with open(header, "rb") as file:
            content = file.read()
        digest.update(hashlib.sha256(content).digest())
        options.update(re.findall(r"\bCONFIG_\w+", content.decode("latin-1"), re.ASCII))
    stamp = "\n".join([digest.hexdigest(), *sorted(options)])
    try:
        with open(STAMP, encoding="utf-8") as file:
            if file.read() == stamp:
                return
    except FileNotFoundError:
        pass
    with open(STAMP, "w", encoding="utf-8") as file:
        file.write(stamp)


def _from_precompiled(call: Call) -> bool:
    """Compile with the shared headers, and return whether this worked.

    A file that conflicts with these headers is then compiled without them.
    """
    names = f"{call.output}.names.h"  # after the header: names on the command line would belong to it
    with open(names, "w", encoding="utf-8") as file:
        file.writelines("#define {} {}\n".format(*each.split("=", 1)) for each in call.names)
    own = ("-include", SHARED, "-include", names, f"-Wp,-MMD,{call.listed}", "-o", call.output, call.source)
    status = _gcc(*call.options, *own)
    os.remove(names)
    if status:
        return False
    target, files = _prerequisites(call.listed)
    shared = {SHARED, names, *_prerequisites(f"{SHARED}.d")[1]}
    kept = [each for each in files if each not in shared]
    with open(call.listed, "w", encoding="utf-8") as file:
        file.write(f"{target}: " + " \\\n  ".join([*kept, STAMP]) + "\n")
    return True


def _prerequisites(listed: str) -> tuple[str, list[str]]:
    """Read the rule that gcc wrote, and return its target and the target's dependencies."""
    with open(listed, encoding="utf-8") as file:
        target, _, files = file.read().partition(":")
    return target, [each for each in files.split() if each != "\\"]


def _gcc(*arguments: str) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(os.posix_spawnp("gcc", ["gcc", *arguments], os.environ), 0)[1])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
