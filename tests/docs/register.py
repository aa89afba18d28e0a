"""Which commands of the guides a test types, and why the others are only parsed."""

from __future__ import annotations

# Typed one after the other, in a folder of one's own.
TYPED = (
    "lab doctor",
    "lab list",
    "lab new mine/first",
    "lab run mine/first",
    "lab graph shared-bottleneck",
    "lab graph shared-bottleneck -o shared-bottleneck.svg",
    "lab run tcp-bottleneck/window-plateau",
    "lab show tcp-bottleneck/window-plateau",
    "lab show tcp-bottleneck/delay-100ms",
    "lab verify",
    "lab store du",
    "lab store gc --unplanned",
    "lab store gc --unplanned --older-than 30 --yes",
    "lab store fsck",
    "lab export mine/first --qlog",
    "lab export mine/first --perfetto -o first.perfetto-trace",
    "lab export --wireshark wireshark",
    "lab export mine --table figures.csv",
    "lab export --kcidb",
    "lab export mine --kcidb --origin my_ci -o report.json",
    "lab store pack",
    "lab store pack --older-than 30",
    "lab store unpack",
    "lab shell lossy -c 'ping -4 -c 600 receiver' --clock virtual --seed 2",
    "lab mn --topo tree,2 --link tc,bw=10,delay=5ms --test pingall+iperf",
)

# Of these, such as start guests do so as programs; the others in the test's own process, which has all modules already.
IN_A_PROCESS = ("lab doctor", "lab run", "lab verify", "lab shell", "lab mn")

# Typed by a person at a terminal.
SESSIONS = (
    "lab shell shared-bottleneck",
    "lab shell shared-bottleneck rival",
    "lab mn shared-bottleneck",
)

# Typed with the files that stand beside them: (page, part; all of it without one).
TUTORIALS = (
    ("docs/tutorial.md", ""),
    ("docs/own-figure.md", ""),
    ("docs/studies.md", ""),
    ("docs/applications.md", ""),
    ("docs/import.md", ""),
    ("docs/mininet.md", "An example: bufferbloat"),
)
NIGHTLY = TUTORIALS[-1:]  # it takes a minute; tests/ext/mininet/test_scripts.py runs a script of the same name for less

# Pages whose Python declares something, which is read with an experiment's words at hand; pages whose Python runs on
# records; pages whose Python runs on any store; pages whose Python needs kernels of its own.
DECLARATIONS = ("docs/experiments.md", "docs/traffic.md", "docs/own-metrics.md", "docs/hands-on.md", "docs/wires.md")
ON_RECORDS = ("docs/notebooks.md",)
ON_ANY_STORE = ("docs/export.md",)
ON_KERNELS = ("docs/congestion.md",)  # it links kernels, which takes minutes: it is only compiled

ALL_CLAIMS = "it runs all claims of the project, or of an article, for minutes; tests do it with one claim or two"
ATLAS = "it runs claims and scripts on several kernels; tests/ext/atlas/test_atlas.py makes a small one"
KERNELS = "it needs two kernels; tests/cli/test_kernels.py shows what such a run answers"
BUILDS = "it builds kernels, which takes minutes"
BISECTS = "it needs a kernel's git tree; tests/ext/comparison and `make test-kernels` search one of their own"
PROVISIONS = "it installs packages, or sets up the project that the test is part of"
OPENS = "it opens Jupyter Lab and stays; tests/ext/course runs the notebooks"
SYSTEM = "it needs root, and changes the machine"
EMULATES = "it takes minutes under QEMU; tests/runner/test_stock.py and tests/machine/kernel/test_vm.py do it"
CAMPAIGN = "it takes an hour; tests/campaign does a little of it"
MACHINES = "it makes a virtual machine, or needs Vagrant; `make test-vm` does what Vagrant would run"
CONTAINERS = "it makes an image with programs that few machines have, for a quarter of an hour"
SOURCES = "it needs the sources of packetdrill and the kernel; tests/ext/suites/packetdrill runs some of the scripts"
SELFTESTS = "it needs the source of the kernel, or takes many minutes; tests/ext/suites/selftest runs tests of its own"
MIXED = "it needs two kernels that share a clock; tests/ext/mixed/test_mixed.py boots some"
SUBMISSIONS = "it needs students' submissions; tests/ext/course grades right, wrong, empty and broken ones"
REVIEWER = "it needs a bundle, which takes minutes to pack; tests/ext/bundle makes a small one and runs from it"
OTHER_MACHINE = "it is for another machine; tests/ext/cluster starts such a worker"
RENDERS = "it executes all notebooks; tests/report renders small ones"

REDIRECTS = "its output goes to a file, which a test's commands cannot do; a person tried it"
EXPLAINS = "it needs a capture beside it; tests/ext/explain explains some"
SHOWS = "it needs a capture beside it; tests/ext/export/test_wireshark.py shows one with the profile"
PROMPTS = "it needs a script of the reader's; tests/ext/mininet/test_mn.py types at the prompt of one"
JUDGES = "it runs twenty trials or more; tests/ext/cc runs two cases"
SAMPLES = "the first claim has no TcpInfo probe; tests/ext/export/test_tcp_info.py writes such tables"
PEERS = "it runs transfers for half an hour, in tools that few machines have; tests/bench/test_peers.py reads outputs"
COSTS = "it runs trials on an emulated CPU for minutes; tests/ext/cost/test_plugin.py counts one nightly"
PARSED = {
    "make bench": PEERS,
    ".venv/bin/python -m bench.peers Mininet NeST": PEERS,
    "lab export mine/first --tcp-info -o sockets.csv": SAMPLES,
    "lab cost tcp-nodelay/cork": COSTS,
    "lab cost tcp-nodelay/cork --kernel 6.1,6.12,7.2 -o cost.html": COSTS,
    "lab cc cubic --quick": JUDGES,
    "lab cc bbr --against cubic,reno -o bbr.html": JUDGES,
    "lab cc cubic --quick --case shallow-buffer,bufferbloat --json": JUDGES,
    "lab explain capture.pcap": EXPLAINS,
    "lab explain capture.pcap --flow 2": EXPLAINS,
    "lab explain capture.pcap -o transfer.html": EXPLAINS,
    "lab explain capture.pcap --json": EXPLAINS,
    "lab explain capture.pcap --rebuild again": EXPLAINS,
    "lab run again": EXPLAINS,
    "lab explain capture.pcap --gains again -o transfer.html": EXPLAINS,
    "lab run tcp-bottleneck/delay-100ms tcp-bottleneck/wmem-6m": ALL_CLAIMS,
    "lab mininet --clock real script.py": PROMPTS,
    "WIRESHARK_CONFIG_DIR=wireshark tshark -C replab -r capture.sender.eth0.pcap": SHOWS,
    "lab shell two-hosts -c 'timeout 5 tcpdump -U -s 128 -ni eth0 -w - 2> /dev/null & sleep 1;"
    " ping -c 3 receiver > /dev/null; wait' > ping.pcap": REDIRECTS,
    "lab run": ALL_CLAIMS,
    "lab packetdrill build": SOURCES,
    "lab packetdrill run": SOURCES,
    "lab packetdrill run 'tcp_sack_*' mine.pkt scripts/": SOURCES,
    "lab packetdrill run --kernel 7.2-mine --base 7.2": SOURCES,
    'lab packetdrill run --tolerance "1 us"': SOURCES,
    "lab selftest list": SELFTESTS,
    "lab selftest run": SELFTESTS,
    "lab selftest run 'mptcp/*' udpgso.sh": SELFTESTS,
    "lab selftest run --kernel 7.2-mine --report nipa=results.json": SELFTESTS,
    "lab selftest run mptcp/simult_flows.sh": SELFTESTS,
    "lab run simult-flows": ALL_CLAIMS,
    "lab run simult-flows --seeds 100": ALL_CLAIMS,
    "lab mixed symmetric-1g --build --kernel sender=6.12 --kernel receiver=7.2 --run 'receiver: nc -l 5001 > /dev/null'"
    " --run 'sender: head -c 200M /dev/zero > /dev/tcp/10.0.1.2/5001'": MIXED,
    "lab mixed two-hosts --kernel receiver=6.12 --run 'sender: ping -c 3 receiver' --for '5 s' -o ping/": MIXED,
    "lab grade ada/ bob/ eve.ipynb --csv grades.csv --junit grades.xml": SUBMISSIONS,
    "lab kernel build 7.3": BUILDS,
    "lab atlas atlas/": ATLAS,
    "lab atlas atlas/ --kernel 6.1,6.12,7.2 --no-scripts incidents": ATLAS,
    "lab atlas atlas/ --stored": ATLAS,
    "lab atlas atlas/ --kernel 7.2,7.2-mine --tree ~/linux": ATLAS,
    "lab run --kernel 6.12,7.2 tcp-timestamps/header-length": KERNELS,
    "lab run bufferbloat": ALL_CLAIMS,
    "lab run fq-codel": ALL_CLAIMS,
    "lab run tcp-bottleneck --json": ALL_CLAIMS,
    "lab run tcp-nodelay --on host --repeat 6": ALL_CLAIMS,
    "lab regress --kernel 6.12 --kernel 7.2": ALL_CLAIMS,
    "lab regress --baseline before --kernel 7.3": ALL_CLAIMS,
    "lab kernel baseline before": ALL_CLAIMS,
    "lab run --shard 1/2 --results shards/1": ALL_CLAIMS,
    "lab run --shard 2/2 --results shards/2": ALL_CLAIMS,
    "lab cluster merge shards/1 shards/2": ALL_CLAIMS,
    "lab cluster plan --seeds 2-30 --json > plan.json": ALL_CLAIMS,
    "lab run --seeds 2-30 --plan plan.json --shard 3/16 --results shards/3": ALL_CLAIMS,
    "lab run --build tcp-timestamps": BUILDS,
    "lab kernel build": BUILDS,
    "lab kernel build 6.12": BUILDS,
    "lab kernel build --tree ~/linux": BUILDS,
    "lab kernel build --tree ~/linux --config tunnels.config --patch mine.patch": BUILDS,
    "lab kernel build 7.2 --patch mine.patch": BUILDS,
    "lab kernel build --file tcp_cubic.c": BUILDS,
    "lab kernel build --file tcp_mine.c": BUILDS,
    "lab kernel build 7.2 --patch delack-60ms.patch": BUILDS,
    "lab regress --kernel 7.2 --kernel 7.2-delack-60ms tcp-nodelay": BUILDS,
    "lab regress --kernel 6.12 --kernel 7.2 tcp-timestamps/header-length": BUILDS,
    "lab regress --kernel 6.12 --kernel 7.2 tcp-timestamps/header-length --junit changes.xml": BUILDS,
    "lab bisect --tree ~/linux --good v7.1 --bad v7.2 tcp-nodelay/piggyback": BISECTS,
    "lab run --on vm --kernel 6.1 tcp-nodelay": EMULATES,
    "lab kernel fetch 6.1": EMULATES,
    "lab run --on vm --kernel 6.1 tcp-timestamps/header-length": EMULATES,
    "lab regress --on vm --kernel 6.1 --kernel 7.2 tcp-timestamps/header-length": EMULATES,
    "lab regress --on vm --kernel 6.1 --kernel 7.2 window.py": EMULATES,
    "lab bundle claims.tar.zst": REVIEWER,
    "lab bundle claims.tar.zst tcp-timestamps": REVIEWER,
    "python3 claims.tar.zst verify": REVIEWER,
    "python3 claims.tar.zst run tcp-nodelay": REVIEWER,
    "lab run --from claims.tar.zst mine/first": REVIEWER,
    "lab kernel take claims.tar.zst": REVIEWER,
    "lab report -o report": RENDERS,
    "make report": PROVISIONS,
    "make test": PROVISIONS,
    "make classroom": OPENS,
    "make container": CONTAINERS,
    "podman build -t replab .": CONTAINERS,
    "podman run --rm -p 127.0.0.1:8888:8888 replab": CONTAINERS,
    "make campaign": CAMPAIGN,
    'make campaign ARGS="kills calls --scale 0.1 --seed 7"': CAMPAIGN,
    "make test-vm": MACHINES,
    'make test-vm ARGS="--kernels given"': MACHINES,
    'make test-vm ARGS="--on host/mininet"': MACHINES,
    "make test-vm ARGS=--help": MACHINES,
    ".venv/bin/python -m tests.vm.box trixie.box": MACHINES,
    "vagrant box add --name replab/trixie trixie.box": MACHINES,
    "vagrant up": MACHINES,
    "REPLAB_BOX=replab/trixie vagrant up --provider libvirt": MACHINES,
    "vagrant provision --provision-with address": MACHINES,
    "vagrant ssh": MACHINES,
    "vagrant destroy": MACHINES,
    "sudo apt-get install qemu-system-x86 gcc libc6-dev zstd": SYSTEM,
    "sudo mn --custom topologies/mininet.py --topo lab,shared-bottleneck": SYSTEM,
    "dask worker tcp://host:8786 --nworkers 1 --nthreads $(nproc) --no-nanny": OTHER_MACHINE,
    "export DASK_CONFIG=$PWD/recipes/dask.yaml": OTHER_MACHINE,
}
