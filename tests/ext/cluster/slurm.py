"""A Slurm of one node, run by one user in one folder, on the loopback alone: Debian's own programs, nothing stubbed."""

from __future__ import annotations

import getpass
import os
import secrets
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

CONF = """
ClusterName=replab
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={daemon}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
SlurmUser={user}
SlurmdUser={user}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
MailProg=/bin/true
ReturnToService=2
SchedulerParameters=sched_interval=1
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory={memory} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
SECONDS = 60.0


def _port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def slurm(folder: Path) -> Iterator[dict[str, str]]:
    """Yield the environment in which sbatch and squeue speak to a Slurm that ends with this context."""
    folder.mkdir(mode=0o755)
    for name in ("state", "spool"):
        (folder / name).mkdir()
    key = folder / "munge.key"
    key.write_bytes(secrets.token_bytes(1024))
    key.chmod(0o600)
    settings = {"host": os.uname().nodename, "user": getpass.getuser(), "folder": folder, "cpus": os.cpu_count()}
    settings["memory"] = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20
    ports = {"controller": _port(), "daemon": _port()}
    (folder / "slurm.conf").write_text(CONF.format(**settings, **ports))
    (folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
    environment = os.environ | {
        "SLURM_CONF": str(folder / "slurm.conf"),
        "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin",
    }
    munge = ["munged", "--foreground", "--force", f"--key-file={key}", f"--socket={folder}/munge.socket"]
    munge += [f"--pid-file={folder}/munged.pid", f"--seed-file={folder}/munge.seed", "--num-threads=2"]
    with ExitStack() as stack:
        for argv in (munge, ["slurmctld", "-D"], ["slurmd", "-D"]):
            stack.enter_context(_running(argv, environment, folder))
            if argv is munge:
                _wait(lambda: (folder / "munge.socket").exists(), folder)
        _wait(lambda: _says(["sinfo", "-h", "-o", "%T"], environment) == "idle", folder)
        try:
            yield environment
        finally:
            _says(["scancel", f"--user={settings['user']}"], environment)
            _wait(lambda: not _says(["squeue", "-h"], environment), folder)


@contextmanager
def _running(argv: list[str], environment: dict[str, str], folder: Path) -> Iterator[None]:
    with (folder / f"{argv[0]}.out").open("wb") as out:
        process = subprocess.Popen(argv, env=environment, stdout=out, stderr=subprocess.STDOUT, cwd=folder)
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _says(argv: list[str], environment: dict[str, str]) -> str:
    done = subprocess.run(argv, env=environment, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else f"{argv[0]}: {done.stderr}"


def _wait(happened: Callable[[], object], folder: Path) -> None:
    deadline = time.monotonic() + SECONDS
    while not happened():
        logs = {path.name: path.read_text()[-2000:] for path in folder.glob("*.out")}
        assert time.monotonic() < deadline, logs
        time.sleep(0.2)
