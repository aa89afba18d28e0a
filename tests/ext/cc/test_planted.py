"""The quick card finds faults that we planted in congestion controls, each as a changed C file.

Each fault takes a link of the kernel and twenty trials: a minute. `make test-kernels ARGS=tests/ext/cc` runs them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from lab.base.building import Silent
from lab.machine.kernel import UmlKernel, folder
from lab.machine.kernel.uml import source
from lab.machine.userland.builder import build

pytestmark = [pytest.mark.guest, pytest.mark.kernels]

LAB = Path(sys.executable).with_name("lab")
REDUCES = "return max((tcp_snd_cwnd(tp) * beta) / BICTCP_BETA_SCALE, 2U);"
GROWS = "\tif (!tcp_is_cwnd_limited(sk))\n\t\treturn;\n\n\tif (tcp_in_slow_start(tp)) {\n\t\tacked"
FAULTS = {  # the file, what stands there, what then does, and the case that shows the fault
    "no reduction on loss": ("tcp_cubic.c", REDUCES, "return max(tcp_snd_cwnd(tp), 2U);", "rfc9743/loss-rate"),
    "a window that never grows": ("tcp_cubic.c", GROWS, f"\tif (beta)\n\t\treturn;\n\n{GROWS}", "rfc9743/one-flow"),
    "a divided unit of the round trip": (
        "tcp_bbr.c",
        "bbr->min_rtt_us = rs->rtt_us;",
        "bbr->min_rtt_us = rs->rtt_us / 10;",
        "rfc9743/one-flow",
    ),
    "a packet for each acknowledged packet": (
        "tcp_cubic.c",
        "tcp_cong_avoid_ai(tp, ca->cnt, acked);",
        "tcp_cong_avoid_ai(tp, 1, acked);",
        "rfc9743/loss-rate",
    ),
}


@pytest.fixture(scope="module")
def ipv4(kernel: UmlKernel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packaged source's net/ipv4."""
    tree = tmp_path_factory.mktemp("source") / "linux"
    found = source.resolve(folder(), kernel.name, False, Silent())
    source.unpack(source.fetch(folder(), found, Silent()), tree, build("compiler", Silent()), source.needless(()))
    return tree / "net" / "ipv4"


@pytest.mark.parametrize("fault", FAULTS)
def test_the_quick_card_finds_a_planted_fault(ipv4: Path, fault: str, tmp_path: Path) -> None:
    name, was, now, case = FAULTS[fault]
    text = (ipv4 / name).read_text()
    assert text.count(was) == 1
    (tmp_path / name).write_text(text.replace(was, now))
    done = subprocess.run(
        [LAB, "cc", name, "--quick", "--json"], cwd=tmp_path, env=os.environ, stdout=subprocess.PIPE, text=True
    )
    assert done.returncode == 0
    assert case in json.loads(done.stdout)["notable"]
