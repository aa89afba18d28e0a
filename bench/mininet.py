"""Run Mininet's own examples and tests unchanged, and write what came out: `python -m bench.mininet table`.

`repeat` runs some of them many times, idle and beside a load on every core, and compares all bytes. `clock` compares
wall time with the same script in real time. The sources are those of Debian's package, and are fetched.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lab.errors import LabError
from lab.ext.mininet import api
from lab.ext.mininet.running import MininetRun
from lab.machine.userland import mirror
from lab.record.store import Store

SOURCE = "pool/main/m/mininet/mininet_2.3.0.orig.tar.gz"
SHA256 = "1b16ee53ddb9a34a3751a77517643bda2286fc31be123209e84884d0697107b0"
PLACE = Path("build/mininet")  # of the sources and the store
PAGE = Path(__file__).parents[1] / "docs/measurements/mininet.md"
BEGIN, END = "<!-- python -m bench.mininet table -->\n", "<!-- end -->\n"
STARTED_BY = (
    "#!/bin/bash\n# Uses the folder custom\nexec python3 {test} $@\n"  # a test that needs files beside its folder
)
REASONS = {  # of scripts that end in an error, by the text that shows it
    "a guest has no windows": "needs windows",
    "CPU limits have no effect": "needs CPU limits",
    "a guest has no network card": "needs a network card",
    "a guest cannot reach other machines": "needs other machines",
}
KNOWN = {  # reasons of tests that fail, and that no text shows
    "examples/test/test_nat.py": "needs the Internet",
}
ROW = re.compile(r"\| (\S+\.py) \| (.+) \| (\d+) \|")
# Arguments of a test, and why: after its first error, the test's other networks fail.
PARTS = {"mininet/test/test_hifi.py": (("-k", "testLink"), "without two tests that need CPU limits")}
LARGE = "2GiB"
MEMORY = {"tree1024.py": LARGE, "examples/test/test_tree1024.py": LARGE}  # of guests whose network needs more
REPEATED = ("emptynet.py", "multiping.py", "linuxrouter.py", "controllers.py", "popenpoll.py")
WAITS = """from mininet.link import TCLink
from mininet.net import Mininet
from mininet.topo import Topo


class Pair(Topo):
    def build(self):
        self.addLink(self.addHost("h1"), self.addHost("h2"), bw=10, delay="5ms")


net = Mininet(Pair(), link=TCLink, controller=None)
net.start()
h1, h2 = net.get("h1", "h2")
h2.cmd("iperf3 -s -D -1")
print(h1.cmd("iperf3 -c", h2.IP(), "-t 60 | tail -4"))
net.stop()
"""


@dataclass(frozen=True)
class Outcome:
    """Holds what came of one script."""

    name: str
    verdict: str
    seconds: float

    def row(self) -> str:
        """Return the script's line of the table."""
        return f"| {self.name} | {self.verdict} | {self.seconds:.0f} |"


def sources(place: Path) -> Path:
    """Return the folder with Mininet's sources, which are fetched once."""
    packed, top = place / Path(SOURCE).name, place / "mininet-2.3.0"
    place.mkdir(parents=True, exist_ok=True)
    if not packed.exists():
        mirror.chosen().download(SOURCE, SHA256, packed)
    if not top.exists():
        with tarfile.open(packed) as tar:
            tar.extractall(place)  # its SHA-256 is checked
    for test in (top / "mininet/test").glob("test_*.py"):
        (top / f"{test.stem}.sh").write_text(STARTED_BY.format(test=test.relative_to(top)))
    return top


def scripts(top: Path) -> dict[str, Path]:
    """Return all examples and tests by name."""
    examples = [path for path in (top / "examples").glob("*.py") if path.name != "__init__.py"]
    tests = list((top / "examples/test").glob("test_*.py"))
    core = list(top.glob("test_*.sh"))
    return {
        **{path.name: path for path in sorted(examples)},
        **{f"examples/test/{path.name}": path for path in sorted(tests)},
        **{f"mininet/test/{path.stem}.py": path for path in sorted(core)},
    }


def outcome(name: str, script: Path, place: Path, budget: float) -> Outcome:
    """Run a script unless it ran before, and return what came of it."""
    begun, warned = time.monotonic(), list[str]()
    out = place / "out" / name.replace("/", "-")
    arguments, part = PARTS.get(name, ((), ""))
    memory = MEMORY.get(name)
    part = part or (f"with `--memory {memory}`" if memory else "")
    given: dict[str, Any] = {"results": place / "results", "out": out, "budget": budget, "memory": memory}
    try:
        found = api.mininet(script, *arguments, **given, warned=warned.append)
    except LabError as error:
        return Outcome(name, f"failed: {str(error).splitlines()[0][:90]}", time.monotonic() - begun)
    seconds = found.record.host.get("wall_seconds", 0.0)
    return Outcome(name, ", ".join(filter(None, (verdict(found, warned), part))), seconds)


def explained(found: Outcome, known: Mapping[str, Outcome]) -> Outcome:
    """Return a failed test's outcome with its reason, which may be that of the example that it tests."""
    if found.verdict.startswith("failed") and found.name in KNOWN:
        return replace(found, verdict=f"{found.verdict}: {KNOWN[found.name]}")
    example = known.get(Path(found.name).name.removeprefix("test_"))
    if found.verdict.startswith("failed") and example and "needs" in example.verdict:
        return replace(found, verdict=example.verdict.removeprefix("ended, but "))
    return found


def verdict(found: MininetRun, warned: Sequence[str]) -> str:
    """Return "passed" with the number of tests, or the reason for the failure."""
    output = str(found.plain()["output"])
    tests = re.search(r"^Ran (\d+) tests?", output, re.MULTILINE)
    skipped = re.search(r"skipped=(\d+)", output)
    if tests and found.exit_code == 0:
        return f"passed, {tests[1]} tests" + (f" ({skipped[1]} skipped)" if skipped else "")
    said = [*warned, found.instead, output]
    why = next((short for text, short in REASONS.items() if any(text in each for each in said)), "")
    if found.exit_code == 0:
        return f"ended, but {why}" if why else "passed"
    failed = ", ".join(dict.fromkeys(re.findall(r"^(?:FAIL|ERROR): (\w+)", output, re.MULTILINE)))
    last = next((line for line in reversed(output.splitlines()) if line.strip()), "no output")[:90]
    parts = f"{failed} of {tests[1]} tests" if tests and failed else ""
    return " ".join(filter(None, (why or "failed:", f"({parts})" if parts and why else parts or ("" if why else last))))


def table(place: Path, only: Sequence[str], budget: float) -> None:
    """Run all scripts, or those of these names, and write the line of each into the page's table."""
    wanted = scripts(sources(place))
    for name, script in wanted.items():
        if not only or name in only:
            ended = outcome(name, script, place, budget)
            before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
            old, _, after = rest.partition(END)
            known = {each: Outcome(each, verdict, float(seconds)) for each, verdict, seconds in ROW.findall(old)}
            known[name] = explained(ended, known)
            print(known[name].row(), flush=True)
            rows = "\n".join(known[each].row() for each in wanted if each in known)
            head = "| script | result | s |\n|---|---|---|"
            PAGE.write_text(f"{before}{BEGIN}\n{head}\n{rows}\n\n{END}{after}", encoding="utf-8")


def burn() -> None:
    """Compute until killed."""
    while True:
        pass


@contextmanager
def load(processes: int) -> Iterator[None]:
    """Keep every core busy."""
    busy = [multiprocessing.Process(target=burn, daemon=True) for _ in range(processes)]
    for each in busy:
        each.start()
    try:
        yield
    finally:
        for each in busy:
            each.kill()
            each.join()


def repeat(place: Path, times: int, names: Sequence[str]) -> bool:
    """Run scripts many times, idle and beside a load, and return whether all bytes of each are the same."""
    known, same = scripts(sources(place)), True
    for name in names:
        seen: dict[bool, set[str]] = {False: set(), True: set()}
        for loaded in (False, True):
            for _ in range(times):
                with tempfile.TemporaryDirectory() as folder, load(2 * (os.cpu_count() or 1) if loaded else 0):
                    found = api.mininet(known[name], results=Path(folder) / "results", out=Path(folder) / "out")
                    seen[loaded].add(repr(sorted(found.record.outputs.items())))
        equal = len(seen[False] | seen[True]) == 1
        same &= equal
        print(f"{name}: {times} idle, {times} loaded: {'the same bytes' if equal else 'DIFFERENT BYTES'}", flush=True)
    return same


def clock(place: Path) -> None:
    """Print the wall time of a script that sends for 60 s, in virtual time and in real time in the same guest."""
    script, found = place / "waits.py", dict[str, float]()
    script.write_text(WAITS)
    lab = str(Path(sys.executable).with_name("lab"))
    for name in ("virtual", "real"):
        with tempfile.TemporaryDirectory() as folder:
            command = [lab, "mininet", "--clock", name, "--results", f"{folder}/results", "--out", f"{folder}/out"]
            begun = time.monotonic()
            done = subprocess.run([*command, str(script)], stdin=subprocess.DEVNULL, capture_output=True, text=True)
            found[name] = time.monotonic() - begun
            cpu = [record.host["cpu_seconds"] for record in Store(Path(folder) / "results")]
        received = re.search(r"([\d.]+) Mbits/sec +receiver", done.stdout)
        spent = f", {cpu[0]:.1f} s of CPU" if cpu else ""
        print(f"{name}: {found[name]:.1f} s{spent}, {received[1] if received else done.stderr} Mbit/s", flush=True)
    print(f"virtual time is {found['real'] / found['virtual']:.1f} times faster")


def main() -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("table", "repeat", "clock"))
    parser.add_argument("names", nargs="*", help="scripts; default: all, or five for `repeat`")
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--budget", type=float, default=900.0)
    parser.add_argument("--place", type=Path, default=PLACE)
    given = parser.parse_intermixed_args()
    given.place.mkdir(parents=True, exist_ok=True)
    if given.what == "repeat":
        return 0 if repeat(given.place, given.times, given.names or REPEATED) else 1
    if given.what == "clock":
        clock(given.place)
    else:
        table(given.place, given.names, given.budget)
    return 0


if __name__ == "__main__":
    sys.exit(main())
