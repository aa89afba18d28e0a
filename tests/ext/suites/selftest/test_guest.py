"""Selftests run unchanged in guests: what they print, how they end, and what they leave behind."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from lab.app.options import PlanOptions, SuiteOptions
from lab.base.building import Silent
from lab.ext.suites.selftest import running as selftests
from lab.ext.suites.selftest.running import SelftestRuns
from lab.ext.suites.selftest.tree import SELFTESTS, Selftest, SelftestCollection, SelftestTree
from lab.machine.kernel import UmlKernel
from lab.record.store import Store

pytestmark = pytest.mark.guest

MAKEFILE = """\
TEST_PROGS := links.sh fails.sh skips.sh sleeps.sh helped.sh first.sh captures.sh stream.sh
TEST_GEN_PROGS := plain broken
TEST_GEN_FILES := helper stream
"""
FILES = {
    "Makefile": MAKEFILE,
    "settings": "timeout=20\n",
    "lib.sh": 'name() { echo "from the library"; }\n',
    # Named as the lab names its own host; and a process that outlives the test.
    "links.sh": """#!/bin/bash
. "$(dirname "$0")/lib.sh"
ip netns add host && ip netns exec host ip link set lo up && name
cmp "$0" "$0" || exit 1
python3 -c 'import os; os.setsid(); os.execvp("sleep", ["sleep", "1000"])' &
echo "ok 1 - links"
""",
    # Only the first namespace has settings for all of them, and /sys is of the namespace that the test is in.
    "first.sh": """#!/bin/bash -e
sysctl -qw net.core.rmem_default=300000
ip link add seen type dummy
[ -e /sys/class/net/seen ]
""",
    "captures.sh": """#!/bin/bash
file=$(mktemp)
timeout 5 tcpdump --immediate-mode -ni lo -c 1 -w "$file" icmp &
sleep 1
ping -c 1 127.0.0.1
wait $! && tcpdump -r "$file" | grep 'echo request'
""",
    "fails.sh": "#!/bin/sh\necho 'not ok 1 wrong'\necho 'ok 2 right'\nexit 1\n",
    "skips.sh": "#!/bin/sh\necho 'SKIP: not today'\nexit 4\n",
    "sleeps.sh": "#!/bin/sh\nsleep 1000\n",
    "helped.sh": "#!/bin/sh\nexec ./helper\n",
    "stream.sh": "#!/bin/sh\n./stream\n",
    "stream.c": """#include <netinet/in.h>
#include <sys/socket.h>
int main(void) { return socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP) < 0; }
""",
    "helper.c": '#include <stdio.h>\n#include "kselftest.h"\nint main(void) { return puts(KSFT) == EOF; }\n',
    "plain.c": "int main(void) { return 2; }\n",
    "broken.c": "int main(void) { return missing; }\n",
}


@pytest.fixture(scope="module")
def tests(tmp_path_factory: pytest.TempPathFactory) -> tuple[Selftest, ...]:
    """A kernel's source with a few tests."""
    root = tmp_path_factory.mktemp("source") / "tree"
    net = root / SELFTESTS / "net"
    net.mkdir(parents=True)
    for name, text in FILES.items():
        (net / name).write_text(text)
    (root / SELFTESTS / "kselftest.h").write_text('#define KSFT "ok 1 - helped"\n')
    tree = SelftestTree(root, "7.2.13")
    collection = SelftestCollection.read(tree, "net")
    return tuple(Selftest(tree, collection, name) for name in (*collection.scripts, *collection.programs))


@pytest.fixture
def run(tests: tuple[Selftest, ...], kernel: UmlKernel, tmp_path: Path) -> Callable[[str], SelftestRuns]:
    """Runs all of them into a store of that name."""
    settings = PlanOptions(kernel=kernel.id).settings()
    return lambda store: selftests.run(tests, settings, SuiteOptions(results=tmp_path / store), Silent())


def test_each_has_its_verdict(run: Callable[[str], SelftestRuns]) -> None:
    found = run("results")
    outcomes = {test.name: (test.outcome, test.reason) for test in found.tests}
    assert outcomes.pop("broken")[0] == "skipped"
    assert outcomes == {
        "links.sh": ("passed", ""),
        "fails.sh": ("failed", "exit status 1; failed: wrong"),
        "skips.sh": ("skipped", "the test skips itself: SKIP: not today"),
        "sleeps.sh": ("failed", "it did not end in time"),
        "helped.sh": ("passed", ""),
        "first.sh": ("passed", ""),
        "captures.sh": ("passed", ""),
        "stream.sh": ("skipped", "it needs what the guest lacks: CONFIG_IP_SCTP"),
        "plain": ("passed", ""),
    }
    (broken,) = (test for test in found.tests if test.name == "broken")
    assert "broken.c does not compile: error: 'missing' undeclared" in broken.reason
    assert not broken.address
    assert found.exit_code == 1
    cases = {case.name: case for case in found.cases()}
    assert [part.outcome for part in cases["fails.sh"].parts] == ["failed", "passed"]
    assert "not ok 1 wrong" in cases["fails.sh"].detail


def test_the_same_bytes_on_a_busy_machine(
    run: Callable[[str], SelftestRuns], busy: Callable[[], AbstractContextManager[None]], tmp_path: Path
) -> None:
    run("idle")
    with busy():
        run("busy")
    idle, loaded = (
        {record.trial.claim: {name: each.sha256 for name, each in record.outputs.items()} for record in Store(place)}
        for place in (tmp_path / "idle", tmp_path / "busy")
    )
    assert len(idle) == 9
    assert idle == loaded
