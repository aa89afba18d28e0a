"""Read `ip`, `tc`, `sysctl` and related commands, and keep what they would build, without running them.

`Follower.follow` takes one command at a time. A `FoundNetwork` collects the results. A command without a counterpart
becomes a problem at its line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from lab.ext.importing import layered, multicast, quantities, queues, script
from lab.ext.importing.found import Device, FoundNetwork
from lab.ext.importing.iplink import ScriptTime
from lab.ext.importing.iproute import Interfaces
from lab.ext.importing.queues import QueueTree
from lab.ext.importing.where import Where

# Commands that change no network and need no message.
QUIET = {"echo", "printf", "true", "false", ":", "exit", "return", "cd", "modprobe", "cat", "ls", "which", "command"}
QUIET |= {"test", "[", "[[", "trap", "ulimit", "mkdir", "rm", "chmod", "wait", "hostname", "apt-get", "apt", "apk"}
QUIET |= {"pwd", "read", "clear", "date", "id", "sed", "grep", "awk", "tee", "logger", "dirname", "basename", "export"}
QUIET |= {"arp", "arping", "rmmod", "depmod", "ps", "ss", "sync", "stty", "tput"}
QUIET |= {"set", "unset", "local", "shift", "source", ".", "touch", "ln", "cp", "mv", "ldconfig", "umask", "seq"}
QUIET |= {"tar", "gzip", "unzip", "chown", "chgrp", "mount", "umount", "install", "mknod", "useradd", "adduser"}
DEEPEST = 10
PREFIXES = {"sudo", "nohup", "time", "exec", "builtin", "eval", "doas", "stdbuf"}
INSTEAD: Mapping[str, str] = {
    **dict.fromkeys(("iptables", "ip6tables", "nft", "ebtables"), "use middlebox.Masquerade or middlebox.Firewall"),
    **dict.fromkeys(("vtysh", "gobgpd", "bird", "zebra", "bgpd", "ospfd"), "the lab routes over the fewest routers"),
    **dict.fromkeys(("docker", "podman", "containerlab"), "name the containers' commands instead"),
    **dict.fromkeys(("sh", "bash", "ash", "dash"), "a script that was not given; import it after this file"),
    **dict.fromkeys(("ovs-ofctl", "ovs-dpctl"), "the lab's switches learn addresses, and have no flow tables"),
    **dict.fromkeys(("dhclient", "udhcpc", "dhcpcd"), "a host without an address gets one from its subnet"),
    **dict.fromkeys(("ifup", "ifdown"), "the lab reads no /etc/network/interfaces; name the ip commands instead"),
    **dict.fromkeys(("iw", "iwconfig", "hostapd", "wpa_supplicant"), "the lab has no radio; use trace or changes"),
}
PROGRAM = "a program; run it with `lab shell`, or as a workload of an experiment"
_FLAGS: Mapping[str, tuple[str, ...]] = {
    "tso": ("tso", "tcp-segmentation-offload"),
    "gso": ("gso", "generic-segmentation-offload"),
    "gro": ("gro", "generic-receive-offload"),
}


@dataclass
class Follower:
    """Applies commands one by one."""

    network: FoundNetwork
    clock: ScriptTime = field(default_factory=ScriptTime)
    depth: int = 0  # of commands within commands, such as `ip netns exec`
    last: dict[int, tuple[int, int]] = field(default_factory=dict)  # id of a device -> the time and epoch of its qdiscs

    def __post_init__(self) -> None:
        interfaces = Interfaces(self.network, self.clock, self.follow)
        self._links = interfaces.links
        self._found = interfaces.links.found
        self._known: Mapping[str, Callable[[list[str], Where, str], None]] = {
            "ip": interfaces.ip,
            "bridge": self._links.fdb,
            "brctl": self._links.brctl,
            "vconfig": self._links.vconfig,
            "ifenslave": self._links.ifenslave,
            "ovs-vsctl": self._links.ovs_vsctl,
            "smcroutectl": lambda words, where, space: multicast.smcroute(self.network, words, where, space),
            "smcroute": lambda words, where, space: multicast.smcroute(self.network, words, where, space),
            "ifconfig": interfaces.ifconfig,
            "route": interfaces.route,
            "tc": self._tc,
            "sysctl": self._sysctl,
            "ethtool": self._ethtool,
            "sleep": self._sleep,
        }

    def follow(self, words: list[str], where: Where, space: str, output: str = "") -> None:
        """Apply one command in a namespace. `output` is the file that its output goes to."""
        words = _plain(words)
        if not words:
            return
        self.depth += 1
        try:
            if self.depth > DEEPEST:
                self.network.leave(where, f"more than {DEEPEST} commands within each other")
            else:
                self._follow(words, where, space, output)
        finally:
            self.depth -= 1

    def shell(self, text: str, where: Where, space: str) -> None:
        """Apply the commands of a shell's text in a namespace, as `sh -c` does. Raises InputError if it is too deep."""

        def take(words: list[str], _: Where, output: str) -> None:
            self.follow(words, where, space, output)

        script.read(text, where, take, lambda _, why: self.network.leave(where, why), {})

    def _follow(self, words: list[str], where: Where, space: str, output: str) -> None:
        name, rest = words[0].rpartition("/")[2], words[1:]
        if name in ("sh", "bash", "ash", "dash") and rest[:1] in (["-c"], ["-ec"], ["-xc"], ["-lc"]):
            self.shell(rest[1] if len(rest) > 1 else "", where, space)
        elif name in ("echo", "printf") and (file := layered.file_of(output)):
            self._take(lambda: self._links.bond_file(*file, rest[-1].strip(), where, space), name, where)
        elif name in ("echo", "printf") and output.startswith("/proc/sys/"):
            self._set(
                output.removeprefix("/proc/sys/").replace("/", "."), rest[-1].strip() if rest else "", where, space
            )
        elif name in self._known:
            self._take(lambda: self._known[name](rest, where, space), name, where)
        elif (
            inside := _nsenter(rest) if name == "nsenter" else _docker(rest, self.network) if name == "docker" else None
        ):
            self.follow(inside[1], where, self.network.inside(space, inside[0]) if name == "nsenter" else inside[0])
        elif name in ("containerlab", "clab") and rest[:3] == ["tools", "netem", "set"]:
            self._containerlab(rest[3:], where)
        elif name not in QUIET:
            self.clock.epoch += 1
            self.network.leave(where, f"{name}: {INSTEAD.get(name, PROGRAM)}")

    def _take(self, apply: Callable[[], None], name: str, where: Where) -> None:
        try:
            apply()
        except ValueError as error:
            self.network.leave(where, f"{name}: {error}")
        except IndexError:
            self.network.leave(where, f"{name}: a word is missing from this command")

    def _sleep(self, words: list[str], _where: Where, _space: str) -> None:
        self.clock.now += sum(quantities.seconds(each) for each in words)

    def _tc(self, words: list[str], where: Where, space: str) -> None:
        while words and words[0].startswith("-"):
            option, words = words[0], words[1:]
            if option in ("-n", "-net", "-netns"):
                space, words = self.network.inside(space, words[0]), words[1:]
            elif option in ("-b", "-batch", "-force"):
                raise ValueError("the lab reads no batch file; put its commands into this file")
        what = next(
            (each for each in ("qdisc", "class", "filter", "monitor", "action") if each.startswith(words[0])), ""
        )
        verb = words[1] if len(words) > 1 else "show"
        if "show".startswith(verb) or verb in ("ls", "list", "get") or what in ("monitor", "action"):
            return
        if "dev" not in words or not what:
            raise ValueError("this command names no device")
        at = words.index("dev")
        device = self._found(space, words[at + 1], where)
        rest = [*words[2:at], *words[at + 2 :]]
        if what == "filter" and "mirred" in rest and "dev" in rest:
            device.mirror = self._found(space, rest[rest.index("dev") + 1], where)
            return
        tree = self._tree(device, verb, where)
        if tree is not None and (reason := queues.command(tree, what, verb, rest, where)):
            raise ValueError(reason)

    def _tree(self, device: Device, verb: str, where: Where) -> QueueTree | None:
        """Return the qdiscs that apply from now on, or None if the time is unknown."""
        at, epoch = self.last.get(id(device), (self.clock.now, self.clock.epoch))
        if epoch != self.clock.epoch and at == self.clock.now:
            if verb not in ("del", "delete"):
                message = f"a change of {device.name} after a program whose duration is unknown; `changes` needs a time"
                self.network.leave(where, message)
            return None
        self.last[id(device)] = (self.clock.now, self.clock.epoch)
        if self.clock.now not in device.trees:
            latest = device.trees[max(device.trees)] if device.trees else QueueTree()
            device.trees[self.clock.now] = latest.copy()
        return device.trees[self.clock.now]

    def _sysctl(self, words: list[str], where: Where, space: str) -> None:
        for word in words:
            if not word.startswith("-") and "=" in word:
                name, _, value = word.partition("=")
                self._set(name.strip().replace("/", "."), value.strip().strip("\"'"), where, space)

    def _set(self, name: str, value: str, where: Where, space: str) -> None:
        found = self.network.space(space, where)
        if name in ("net.ipv4.ip_forward", "net.ipv4.conf.all.forwarding", "net.ipv6.conf.all.forwarding"):
            found.forwards = found.forwards or value == "1"
        elif name.startswith(("net.ipv4.conf.", "net.ipv6.conf.", "net.bridge.", "net.ipv6.neigh", "net.mpls.")):
            return  # of interfaces whose names differ here, or of what the lab does on its own
        elif name.startswith("net."):
            found.sysctls[name] = (value, where)
        else:
            self.network.leave(where, f"{name}: a topology sets only sysctls of net.")

    def _ethtool(self, words: list[str], where: Where, space: str) -> None:
        if words[0] not in ("-K", "--offload", "--features"):
            return
        device = self._found(space, words[1], where)
        for name, value in zip(words[2::2], words[3::2], strict=False):
            for flag, names in _FLAGS.items():
                if name in names:
                    device.offloads[flag] = (value == "on", where)

    def _containerlab(self, words: list[str], where: Where) -> None:
        """Apply `containerlab tools netem set` to the network."""
        given: dict[str, str] = {}
        for word, value in zip(words, [*words[1:], ""], strict=True):
            if word.startswith("-"):
                name, _, own = word.lstrip("-").partition("=")
                given[{"n": "node", "i": "interface"}.get(name, name)] = own or value
        space = self.network.container(given.get("node", ""))
        if space is None:
            self.network.leave(where, f"{given.get('node', 'no node')}: this network has no such node")
            return
        parts = ["delay", given["delay"]] if "delay" in given else []
        parts += [given["jitter"]] if "jitter" in given and parts else []
        parts += ["loss", f"{given['loss']}%"] if "loss" in given else []
        parts += ["rate", f"{given['rate']}kbit"] if "rate" in given else []
        parts += ["corrupt", f"{given['corruption']}%"] if "corruption" in given else []
        interface = given.get("interface", "eth1")
        self.follow(["tc", "qdisc", "replace", "dev", interface, "root", "netem", *parts], where, space)


def _plain(words: list[str]) -> list[str]:
    """Return a command without `sudo` and similar prefixes, their options, and assignments to variables."""
    left = list(words)
    while left:
        name = left[0].rpartition("/")[2]
        if name in PREFIXES or re.fullmatch(r"[A-Za-z_]\w*=.*", left[0], re.DOTALL):
            left = left[1:]
            while left and name in PREFIXES and left[0].startswith("-"):
                left = left[2:] if left[0] in ("-u", "-g") else left[1:]
        elif name in ("timeout", "nice") and len(left) > 2:
            left = left[1:]
            while left and (left[0].startswith("-") or left[0][:1].isdigit()):
                left = left[1:]
        else:
            break
    return left


def _nsenter(words: list[str]) -> tuple[str, list[str]] | None:
    for index, word in enumerate(words):
        if match := re.fullmatch(r"(?:--net=|-n)/(?:var/)?run/netns/(\S+)", word):
            rest = words[index + 1 :]
            return match[1], rest[1:] if rest[:1] == ["--"] else rest
    return None


def _docker(words: list[str], network: FoundNetwork) -> tuple[str, list[str]] | None:
    if words[:1] != ["exec"]:
        return None
    left = words[1:]
    while left and left[0].startswith("-"):
        left = left[2:] if left[0] in ("-e", "-u", "-w", "--user", "--env", "--workdir") else left[1:]
    space = network.container(left[0]) if left else None
    return None if space is None else (space, left[1:])
