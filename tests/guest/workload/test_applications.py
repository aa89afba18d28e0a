"""Applications of the userland `programs` run as any program does, with the same bytes on a busy machine."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

import lab
from lab import metric
from lab.machine.userland.lock import locked
from lab.record.record import Record

pytestmark = pytest.mark.guest

Busy = Callable[[], AbstractContextManager[None]]

EXPERIMENT = '''\
"""All bytes arrive."""

from lab import (
    Arm,
    Bulk,
    Capture,
    Duration,
    Exactly,
    Experiment,
    Flow,
    Flows,
    Implied,
    Listens,
    Program,
    TcpInfo,
    metric,
)

{declared}

EXPERIMENT = Experiment(
    topology="shared-bottleneck",
    userland="programs",
    workload=WORKLOAD,
    probes=(Capture(), TcpInfo(node="receiver")),
    metric=METRIC,
    arms=(Arm("only", Implied(1000000, "it is a megabyte")),),
    tolerance=Exactly(because="it is a count"),
)
'''
NGINX = """\
daemon off;
master_process off;
user root;
pid nginx.pid;
events {}
http {
    access_log off;
    client_body_temp_path .;
    proxy_temp_path .;
    fastcgi_temp_path .;
    uwsgi_temp_path .;
    scgi_temp_path .;
    sendfile on;
    server { listen PORT; root .; }
}
"""
SERVE_HTTP = """\
head -c 1000000 /dev/zero > page
sed "s/PORT/$2/" "$1/nginx.conf" > nginx.conf
exec nginx -e stderr -p "$PWD" -c nginx.conf
"""
HTTP = """\
WORKLOAD = Program(
    argv=("curl", "-sS", "-o", "fetched", "-w", "%{json}", "http://{server}:{port}/page"),
    service=("sh", "{files}/serve", "{files}", "{port}"),
    files=("nginx.conf", "serve"),
)
METRIC = metric.program_json("size_download", unit="1")
"""
SERVE_QUIC = """\
mkdir served
head -c 1000000 /dev/zero > served/page
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key -out certificate -subj /CN=server
exec gtlsserver --quiet -d served 0.0.0.0 "$1" key certificate
"""
FETCH_QUIC = """\
gtlsclient --quiet --exit-on-all-streams-close --download=. "$1" "$2" "https://$1:$2/page"
wc -c < page
"""
QUIC = """\
FETCH = Program(
    argv=("sh", "{files}/fetch", "{server}", "{port}"),
    service=("sh", "{files}/serve", "{port}"),
    ready=Listens("udp"),
    files=("fetch", "serve"),
)
WORKLOAD = Flows((Flow("quic", FETCH), Flow("tcp", Bulk(client="rival", duration=Duration.of("1 s")))))
METRIC = metric.of_flow("quic", metric.program_match(r"(\\d+)"))
"""
GO = """\
WORKLOAD = Program(
    argv=(
        "goawk",
        'BEGIN { while (("ping -c 4 -i 0.25 " ARGV[1] | getline line) > 0) if (line ~ /ttl=/) n++; print n * 250000 }',
        "{server}",
    ),
)
METRIC = metric.program_match(r"(\\d+)")
"""
CASES = {
    "static-go": (GO, {}),
    "http": (HTTP, {"serve": SERVE_HTTP, "nginx.conf": NGINX}),
    "quic-beside-tcp": (QUIC, {"serve": SERVE_QUIC, "fetch": FETCH_QUIC}),
}


def ran(claim: Path, results: Path) -> Record:
    (found,) = lab.run(claim, results=results)
    assert found.passed, found
    (record,) = found.records
    return record


@pytest.mark.parametrize("name", CASES)
def test_an_application_is_what_its_lock_says(tmp_path: Path, busy: Busy, name: str) -> None:
    declared, files = CASES[name]
    claim = tmp_path / "experiments" / "applications" / f"{name}.py"
    claim.parent.mkdir(parents=True)
    claim.write_text(EXPERIMENT.format(declared=declared))
    for file, text in files.items():
        (claim.parent / file).write_text(text)
    idle = ran(claim, tmp_path / "idle")
    with busy():
        loaded = ran(claim, tmp_path / "loaded")
    assert idle.trial.userland == locked("programs").id
    assert idle.address == loaded.address
    assert (idle.folder / "record.json").read_bytes() == (loaded.folder / "record.json").read_bytes()
    if name == "quic-beside-tcp":
        assert metric.flow_goodput("tcp", 0, 1)(idle).number > 0
