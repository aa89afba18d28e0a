"""Run a Mininet script in a guest until it has built its network, and describe the network: ARCHIVE COMMAND.

COMMAND is a file with JSON: the script, its arguments, and `topo`, a text for `mn --topo`. The file found.json gets the
nodes, links and commands in their order. Hosts are Mininet's own. Commands that the script gives to nodes are noted and
not run, and so is everything that would start or measure the network.
"""

import inspect
import json
import os
import runpy
import subprocess
import sys
import tarfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import mininet.cli
import mininet.link
import mininet.log
import mininet.net
import mininet.node
import mininet.topo
import mininet.util

FOLDER = Path("/tmp/script")
MOST_STEPS = 50_000
steps: list[dict[str, Any]] = []  # what the script does, in order
lines: dict[object, tuple[str, int] | None] = {}  # of a Topo: a node -> the line that adds it
joins: dict[tuple[str, str], list[tuple[str, int] | None]] = {}  # (node, node) -> the lines that join them, in order


class Done(BaseException):
    """Raised when the script would use its network interactively, or has stopped it."""


def place() -> tuple[str, int] | None:
    """Return the file and line of the script's own code that leads here, or None if Mininet's code does."""
    frame = inspect.currentframe()
    while frame:
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(FOLDER):
            return str(path.relative_to(FOLDER)), frame.f_lineno
        frame = frame.f_back
    return None


def is_own() -> bool:
    """Return whether the script's own code called the function that calls this one."""
    return Path(inspect.stack(0)[2].filename).is_relative_to(FOLDER)


def plain(value: object) -> Any:
    """Return a value in a form for JSON. Classes become their names."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items() if not isinstance(key, mininet.node.Node)}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return {"class": getattr(value, "__name__", type(value).__name__), "of": getattr(value, "__module__", "")}


def note(step: str, at: tuple[str, int] | None = None, **about: Any) -> None:
    """Note one step, with its line."""
    if len(steps) >= MOST_STEPS:
        raise Done
    file, line = at or place() or ("", 1)
    steps.append({"step": step, "file": file, "line": line, **about})


class Quiet(mininet.node.Node):  # type: ignore[misc]
    """A switch or a controller that does nothing."""

    def __getattr__(self, name: str) -> Callable[..., str]:
        if name.startswith("_"):
            raise AttributeError(name)
        return nothing

    def config(self, **_: Any) -> None:
        """Change nothing."""


def add_host(self: Any, name: str, cls: Any = None, **params: Any) -> Any:
    """Note a host, and create it."""
    note("host", lines.get(name), name=name, params=plain({**params, **({"cls": cls} if cls else {})}))
    if cls is None or cls.__module__.startswith("mininet.") or issubclass(cls, mininet.node.CPULimitedHost):
        cls = mininet.node.Node
    for key in ("cpu", "cores", "sched"):
        params.pop(key, None)
    return real_add_host(self, name, cls, **params)


def add_switch(self: Any, name: str, cls: Any = None, **params: Any) -> Any:
    """Note a switch, and create a node that does nothing."""
    note("switch", lines.get(name), name=name, params=plain({**params, **({"cls": cls} if cls else {})}))
    switch = Quiet(name, inNamespace=True)
    self.switches.append(switch)
    self.nameToNode[name] = switch
    return switch


def add_controller(self: Any, name: Any = "c0", *_: Any, **__: Any) -> Any:
    """Create a controller that does nothing."""
    made = Quiet(name if isinstance(name, str) else "c0", inNamespace=False)
    self.controllers.append(made)
    self.nameToNode[made.name] = made
    return made


def add_nat(_: Any, name: str = "nat0", *__: Any, **___: Any) -> Any:
    """Note a NAT, which connects the network to the outside."""
    note("nat", name=name)
    return Quiet(name, inNamespace=True)


def add_link(
    self: Any, node1: Any, node2: Any, port1: Any = None, port2: Any = None, cls: Any = None, **params: Any
) -> Any:
    """Note a link, and create a link without parameters."""
    ends = [self[each] if isinstance(each, str) else each for each in (node1, node2)]
    names = {key: params[key] for key in ("intfName1", "intfName2") if key in params}
    key = (ends[0].name, ends[1].name)
    at = joins[key].pop(0) if joins.get(key) else None
    link = mininet.link.Link(*ends, port1, port2, **names)
    mine = dict(getattr(self, "linkOptions", {}), **params)
    known = {each: value for each, value in mine.items() if each not in names}
    interfaces = [link.intf1.name, link.intf2.name]
    ports = [each.node.ports[each] for each in (link.intf1, link.intf2)]
    note("link", at, ends=list(key), names=interfaces, ports=ports, params=plain({**known, "cls": cls or self.link}))
    for interface, own in zip((link.intf1, link.intf2), (params.get("params1"), params.get("params2")), strict=True):
        if own and own.get("ip"):
            interface.node.setIP(own["ip"], intf=interface)
    self.links.append(link)
    return link


def said(*args: Any) -> str:
    """Return the command that Node.cmd receives, as text."""
    parts = args[0] if len(args) == 1 else args
    return parts if isinstance(parts, str) else " ".join(map(str, parts))


def noting(real: Callable[..., Any], result: Callable[[], Any]) -> Callable[..., Any]:
    """Return a method of a node that notes the script's own commands, and does not run them."""

    def method(self: Any, *args: Any, **opts: Any) -> Any:
        if is_own():
            note("command", node=self.name, text=said(*args))
            return result()
        return real(self, *args, **opts)

    return method


def ended() -> subprocess.Popen[bytes]:
    """Return a process that has ended and has written nothing."""
    return subprocess.Popen(["true"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def set_ip(real: Callable[..., Any]) -> Callable[..., Any]:
    """Return Node.setIP or Intf.setIP, which notes the script's own calls."""

    def method(self: Any, ip: str, *args: Any, **opts: Any) -> Any:
        if is_own() and ip:
            node = getattr(self, "node", self)
            interface = opts.get("intf") or (args[1] if len(args) > 1 else None) or self
            length = opts.get("prefixLen") or (args[0] if args else None) or 8
            name = getattr(interface, "name", str(interface))
            name = node.defaultIntf().name if interface is node and node.defaultIntf() else name
            text = f"ifconfig {name} {ip if '/' in ip else f'{ip}/{length}'}"
            note("command", node=node.name, text=text)
        return real(self, ip, *args, **opts)

    return method


def outside(command: Any) -> int:
    """Note a command that the script runs outside its nodes."""
    note("command", node="", text=os.fsdecode(command))
    return 0


def stop(*_: Any, **__: Any) -> NoReturn:
    """End the script."""
    raise Done


def measured(*_: Any, **__: Any) -> int:
    """Note an action whose duration is unknown."""
    note("program")
    return 0


def slept(seconds: Any, /) -> None:
    """Note that time passes."""
    note("sleep", seconds=float(seconds))


def start(self: Any, *_: Any, **__: Any) -> None:
    """Build the network without starting it."""
    if not self.built:
        self.build()


def nothing(*_: Any, **__: Any) -> str:
    """Do nothing, and return no text."""
    return ""


def patch() -> None:
    """Replace the functions that would start, run or measure something."""
    net, node = mininet.net.Mininet, mininet.node.Node
    net.addHost, net.addSwitch, net.addController = add_host, add_switch, add_controller
    net.addLink, net.addNAT, net.start = add_link, add_nat, start
    net.stop = mininet.cli.CLI.__init__ = stop
    for name in ("ping", "pingAll", "pingAllFull", "pingPair", "pingFull", "iperf", "runCpuLimitTest", "waitConnected"):
        setattr(net, name, measured)
    net.interact = stop
    for name in ("cmd", "cmdPrint", "sendCmd", "waitOutput", "monitor", "pcmd"):
        if hasattr(node, name):
            setattr(node, name, noting(getattr(node, name), str))
    node.popen = noting(node.popen, ended)
    node.pexec = noting(node.pexec, lambda: ("", "", 0))
    node.setIP, mininet.link.Intf.setIP = set_ip(node.setIP), set_ip(mininet.link.Intf.setIP)
    mininet.node.CPULimitedHost.init = staticmethod(nothing)
    mininet.util.quietRun = mininet.net.quietRun = nothing
    os.system = outside
    time.sleep = slept
    topo = mininet.topo.Topo
    real_node, real_link = topo.addNode, topo.addLink

    def topo_node(self: Any, name: str, **opts: Any) -> Any:
        lines[name] = place()
        return real_node(self, name, **opts)

    def topo_link(self: Any, node1: str, node2: str, *args: Any, **opts: Any) -> Any:
        joins.setdefault((node1, node2), []).append(place())
        return real_link(self, node1, node2, *args, **opts)

    topo.addNode, topo.addLink = topo_node, topo_link


def build(found: dict[str, Any], wanted: str) -> None:
    """Build a Topo from the file, as `mn --custom FILE --topo WANTED` does."""
    topos = found.get("topos")
    topos = topos if isinstance(topos, dict) else {}
    base = mininet.topo.Topo
    own = {
        name: each
        for name, each in found.items()
        if isinstance(each, type) and issubclass(each, base) and not each.__module__.startswith("mininet.")
    }
    known = {**own, **topos}
    name, args, opts = mininet.util.splitArgs(wanted) if wanted else ("", [], {})
    if not name and len(topos or own) == 1:
        name = next(iter(topos or own))
    if name not in known:
        names = ", ".join(map(str, known)) or "no Topo"
        note("refused", ("", 1), message=f"has {names}; choose one with --topo NAME[,ARGUMENT...]")
        return
    mininet.net.Mininet(topo=known[name](*args, **opts), build=False, autoSetMacs=False).build()


def failure(error: BaseException) -> tuple[tuple[str, int], str]:
    """Return the line of the script's own code that failed, and why."""
    if isinstance(error, SyntaxError) and error.filename and Path(error.filename).is_relative_to(FOLDER):
        return (os.path.relpath(error.filename, FOLDER), error.lineno or 1), error.msg  # no frame is at this line
    own = [each for each in traceback.extract_tb(error.__traceback__) if Path(each.filename).is_relative_to(FOLDER)]
    at = (os.path.relpath(own[-1].filename, FOLDER), own[-1].lineno or 1) if own else ("", 1)
    return at, f"{type(error).__name__}: {str(error)[:300]}"


def main(archive: str, command: str) -> None:
    """Run the script, and describe the network that it builds."""
    job = json.loads(Path(command).read_text())
    with tarfile.open(archive) as tar:
        tar.extractall(FOLDER, filter="data")
    os.chdir(FOLDER)
    sys.argv = [job["script"], *job["arguments"]]
    sys.path.insert(0, str(FOLDER))
    out = Path("/run/lab/found.json")
    patch()
    mininet.log.setLogLevel("critical")
    try:
        found = runpy.run_path(str(FOLDER / job["script"]), run_name="custom" if job["topo"] else "__main__")
        if job["topo"] or not any(each["step"] in ("host", "link") for each in steps):
            build(found, job["topo"])
    except Done:
        pass
    except (Exception, SystemExit) as error:  # noqa: BLE001  # any error of the script
        at, message = failure(error)
        note("failed", at, message=message)
    out.write_text(json.dumps(steps))
    os._exit(0)


real_add_host = mininet.net.Mininet.addHost

if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
