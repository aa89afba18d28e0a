"""A guest that boots from the sealed userland sees that and the trial's folder, and nothing else of the host."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import lab
from lab.app import userlands
from lab.errors import InputError
from lab.guest.trial import HOST
from lab.guest.workload import Iperf3, Ping
from lab.machine.kernel import UmlKernel, boot
from lab.machine.kernel.root import Root
from lab.machine.userland.cache import Userland, UserlandMissing, find
from lab.runner import code, tools
from lab.runner.code import sealed, sources
from lab.runner.tools import ToolMissing
from lab.spec.shipped import PACKAGE
from lab.units import Duration
from tests.kinds import Perform

LOOK = """\
import json, os, sys
seen = {top: sorted(os.listdir(top)) for top in ("/", "/run/lab", "/tmp", "/home") if os.path.isdir(top)}
mounts = [line.split()[1:4] for line in open("/proc/mounts")]
print(json.dumps({"seen": seen, "mounts": mounts, "python": sys.version, "path": sys.path, "at": os.getcwd()}))
"""


@pytest.fixture(scope="session")
def userland() -> Userland:
    found = userlands.chosen("sealed", "uml")
    assert found is not None
    return found


@pytest.fixture(scope="session")
def root(userland: Userland) -> Root:
    return sealed(userland.id)


def said(kernel: UmlKernel, folder: Path, root: Root, *command: str) -> str:
    """What a command in a guest prints."""
    folder.mkdir()
    line = 'exec >/run/lab/said 2>&1; exec "$@"'
    result = boot(kernel, folder, ["sh", "-c", line, "sh", *command], root=root)
    text = (folder / "said").read_text()
    assert result.status == 0, text
    return text


@pytest.mark.guest
def test_it_sees_nothing_of_the_host(kernel: UmlKernel, tmp_path: Path, root: Root) -> None:
    seen = json.loads(said(kernel, tmp_path / "guest", root, root.python, "-c", LOOK))
    assert set(seen["seen"]["/"]) == {
        "bin", "dev", "etc", "lib", "lib64", "proc", "root", "run", "sbin", "sys", "tmp", "usr",
    }  # fmt: skip
    assert seen["seen"]["/run/lab"] == ["boot", "console.log", "said"]
    assert seen["seen"]["/tmp"] == []
    assert seen["python"].startswith("3.13.")
    files = [mount for mount in seen["mounts"] if mount[1] == "hostfs"]
    assert [mount[0] for mount in files] == ["/", code.PLACE, "/run/lab"]
    assert str(Path(lab.__file__).parents[1]) not in json.dumps(seen)
    assert str(root.tree) not in json.dumps(seen)


@pytest.mark.guest
def test_its_files_are_read_only(kernel: UmlKernel, tmp_path: Path, root: Root) -> None:
    script = "for f in /etc/x /usr/bin/x /usr/lib/replab/x; do echo 1 >$f && echo written $f; done; true"
    assert "written" not in said(kernel, tmp_path / "guest", root, "sh", "-c", script)


@pytest.mark.guest
def test_every_program_of_the_recipe_starts(kernel: UmlKernel, tmp_path: Path, root: Root) -> None:
    """A library that is missing, or was removed, shows here."""
    script = "cd /usr/bin; for f in /usr/bin/* /usr/sbin/*; do ldd $f 2>/dev/null | grep 'not found' && echo $f; done"
    assert "not found" not in said(kernel, tmp_path / "libraries", root, "bash", "-c", f"{script}; true")
    programs = (
        "awk 1 /dev/null; bash --version; brctl --version; ethtool --version; fping -v; iperf --version; "
        "iperf3 --version; ip -V; iptables --version; less -V; mnexec -v; netperf -V; nft -v; ping -V; "
        "python3 -m flent --version; qperf --version; ss -V; stdbuf --version; tc -V; tcpdump --version; "
        "tshark --version"
    )
    # Some that only say their version end with 1.
    each = 'for each; do $each; status=$?; [ $status -le 1 ] || echo "failed: $each, with $status"; done'
    text = said(kernel, tmp_path / "programs", root, "bash", "-c", each, "-", *programs.split("; "))
    assert "not found" not in text
    assert "failed: " not in text


@pytest.mark.guest
def test_the_places_of_lab_cache_and_trial_do_not_matter(
    kernel: UmlKernel, tmp_path: Path, root: Root, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = [root.python, "-c", LOOK.replace("import json", "import lab.guest.perform, json")]
    first = said(kernel, tmp_path / "one", root, *look)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "elsewhere"))
    other = Root(tmp_path / "tree", root.init, root.python, root.search, tmp_path / "code")
    shutil.copytree(root.tree, other.tree, symlinks=True)
    assert root.code is not None
    shutil.copytree(root.code, tmp_path / "code")
    (tmp_path / "deep" / "er").mkdir(parents=True)
    assert said(kernel, tmp_path / "deep" / "er" / "two", other, *look) == first


@pytest.mark.guest
def test_no_python_is_compiled_in_a_guest(kernel: UmlKernel, tmp_path: Path, root: Root) -> None:
    script = "import lab.guest.perform, lab.guest.interactive, lab.guest.fabric.mininet, json, ctypes, asyncio, flent"
    text = said(kernel, tmp_path / "guest", root, root.python, "-v", "-c", script)
    assert re.findall(r"code object from '/.*\.py'", text) == []
    assert "code object from '/usr/lib/replab/lab/guest/fabric/__pycache__/mininet.cpython-313.pyc'" in text


@pytest.mark.guest
def test_what_starts_a_trial_comes_from_one_file(kernel: UmlKernel, tmp_path: Path, root: Root) -> None:
    text = said(kernel, tmp_path / "guest", root, root.python, "-v", "-c", "import lab.guest.perform")
    assert "import 'lab.guest.network' # <sitecustomize.Packed object" in text
    paths = re.findall(r"import '([\w.]+)' # <_frozen_importlib_external.SourceFileLoader", text)
    assert not {name for name in paths if name.startswith(("lab", "msgspec"))}


@pytest.mark.guest
def test_a_trial_names_its_userland_and_no_tool(perform: Perform, userland: Userland) -> None:
    record = perform("two-hosts", Ping())
    assert record.trial.userland == userland.id
    assert record.trial.tools.keys() == {"lab"}


@pytest.mark.guest
@pytest.mark.needs("ip", "tc", "ethtool", "ping")
def test_the_hosts_own_programs_are_another_trial(perform: Perform) -> None:
    sealed_one, own = perform("two-hosts", Ping()), perform("two-hosts", Ping(), userland=HOST)
    assert own.trial.userland == HOST
    assert own.trial.tools.keys() == {"lab", "python", "ping"}
    assert own.address != sealed_one.address


@pytest.mark.guest
def test_twice_the_same_bytes(perform: Perform, tmp_path: Path) -> None:
    work = Iperf3(duration=Duration.of("1 s"))
    first, again = (perform("two-hosts", work, into=tmp_path / name) for name in "ab")
    assert first.outputs == again.outputs


def test_a_tool_that_the_userland_lacks_is_named(userland: Userland) -> None:
    with pytest.raises(ToolMissing, match="the userland has no 'no-such-tool': --userland host"):
        tools.sealed(["iperf3", "no-such-tool"], userland)


def test_all_tools_of_workloads_probes_and_middleboxes_are_in_it(userland: Userland) -> None:
    known = "flent fping iperf iperf3 iptables mininet nc.openbsd netperf nft ping qperf tcpdump tshark"
    assert tools.sealed(known.split(), userland) == {"lab": tools.own_code()}


def test_an_unknown_choice_is_refused() -> None:
    with pytest.raises(InputError, match="--userland mine is unknown; use sealed or host"):
        userlands.chosen("mine", "uml")


def test_only_guests_of_user_mode_kernels_have_one() -> None:
    assert userlands.chosen("sealed", "host") is None
    assert userlands.chosen("sealed", "vm") is None


def test_one_that_is_not_here_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(UserlandMissing, match="is not here; run `lab userland build guest`"):
        find("guest")
    with pytest.raises(UserlandMissing, match="userland 0123456789abcdef is not here"):
        sealed("0123456789abcdef")


@pytest.mark.needs("mn")  # whose package one of these modules imports
def test_guests_have_all_code_that_they_import() -> None:
    within = ("perform", "interactive", "monitor", "fabric.mininet", "fabric.selftest")
    modules = ", ".join(f"lab.guest.{module}" for module in within)
    program = f"import sys, {modules}; print(*(m.__file__ for n, m in sys.modules.items() if n[:3] == 'lab'))"
    above = Path(lab.__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": str(above)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert {Path(file) for file in done.stdout.split()} <= set(code._needed())


def test_what_decides_packets_is_code_that_guests_have() -> None:
    assert set(sources(PACKAGE)) < set(code._needed())


def test_the_copy_of_the_code_is_the_code(root: Root) -> None:
    assert root.code is not None
    for file in code._needed():
        assert (root.code / "lab" / file.relative_to(PACKAGE)).read_bytes() == file.read_bytes()
