"""Run a Mininet script in a guest: ARCHIVE COMMAND SECONDS PACKETS. Its output goes to standard output.

COMMAND is a file with a JSON list: the script and its arguments. status.json gets the exit status, null if the time was
up, and files/ gets each file that the script wrote into its folder. networks/ gets what `recorder.py` records, with at
most PACKETS packets. The script starts as it does on any Linux: in its own folder, as root, in the first network
namespace, and with Open vSwitch running.
"""

import json
import os
import py_compile
import select
import shutil
import signal
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from py_compile import PycInvalidationMode

HERE = Path(__file__).parent
FOLDER = Path("/tmp/script")
OWN = Path("/run/bin")  # first in the PATH
RUN, SCHEMA = Path("/run/openvswitch"), "/usr/share/openvswitch/vswitch.ovsschema"
SWITCH = (  # what /usr/share/openvswitch/scripts/ovs-ctl does
    ("ovsdb-tool", "create", f"{RUN}/conf.db", SCHEMA),
    ("ovsdb-server", f"{RUN}/conf.db", f"--remote=punix:{RUN}/db.sock", "--pidfile", "--detach", "--no-chdir"),
    ("ovs-vsctl", "--no-wait", "init"),
    ("ovs-vswitchd", f"unix:{RUN}/db.sock", "--pidfile", "--detach", "--no-chdir", f"--log-file={RUN}/vswitchd.log"),
)
RECORDER = "/run/recorder"  # its socket
STARTED = Path("/run/python")  # what each Python runs when it starts
SETTINGS = {"HOME": "/root", "USER": "root", "TERM": "dumb", "PYTHONUNBUFFERED": "1"} | {
    "MPLBACKEND": "Agg",
    "MPLCONFIGDIR": "/tmp/.matplotlib",
}


def start_switch() -> None:
    """Start Open vSwitch, with an empty database. Exit with its reason if it does not start."""
    RUN.mkdir()
    for command in SWITCH:
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "OVS_SYSCONFDIR": "/run"})
        if done.returncode:
            sys.exit(f"Open vSwitch does not start: {command[0]}: {done.stderr.strip()}")


def unpack(archive: str) -> dict[Path, bytes]:
    """Put the script's files into its folder, and return them."""
    with tarfile.open(archive) as tar:
        tar.extractall(FOLDER, filter="data")
    return {path: path.read_bytes() for path in FOLDER.rglob("*") if path.is_file()}


def command_of(script: str) -> list[str]:
    """Return the command that runs the script: its own interpreter, else Python."""
    text = (FOLDER / script).read_bytes()
    words = text.split(b"\n", 1)[0][2:].split() if text.startswith(b"#!") else []
    shell = script.endswith(".sh") or any(word.endswith(b"sh") for word in words)
    return ["bash" if shell else "python3", script]


def run(command: list[str], seconds: float) -> int | None:
    """Return the exit status, or None if the script did not end in time."""
    environment = os.environ | SETTINGS | {"PATH": os.pathsep.join([str(OWN), os.environ["PATH"]])}
    process = subprocess.Popen(
        command,
        cwd=FOLDER,
        env=environment,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    handle = os.pidfd_open(process.pid)
    ended = bool(select.select([handle], [], [], seconds)[0])
    if not ended:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    status = process.wait()
    return status if ended else None


def keep(before: dict[Path, bytes], to: Path) -> None:
    """Copy the files that the script wrote into its folder, or changed there."""
    written = (path for path in sorted(FOLDER.rglob("*")) if path.is_file() and not path.is_symlink())
    for path in written:
        if "__pycache__" not in path.parts and before.get(path) != path.read_bytes():
            target = to / path.relative_to(FOLDER)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)


def provide_programs(folder: Path) -> None:
    """Put the programs that were shipped before those of the userland."""
    OWN.mkdir(exist_ok=True)
    for name in ("iperf", "mnexec"):
        shutil.copyfile(folder / name, OWN / name)
        (OWN / name).chmod(0o755)


@contextmanager
def recorded(packets: str) -> Iterator[None]:
    """Record the networks that the script builds, and their packets. Exit with the recorder's message if it fails."""
    STARTED.mkdir()
    shutil.copyfile(HERE / "reporter.py", STARTED / "usercustomize.py")
    py_compile.compile(str(STARTED / "usercustomize.py"), invalidation_mode=PycInvalidationMode.UNCHECKED_HASH)
    os.environ["PYTHONPATH"] += f"{os.pathsep}{STARTED}"
    command = [sys.executable, str(HERE / "recorder.py"), RECORDER, "networks", packets]
    recorder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with recorder:
        assert recorder.stdin
        assert recorder.stdout
        recorder.stdout.readline()
        yield
        recorder.stdin.close()
    if recorder.returncode:
        sys.exit("the networks of the script were not recorded")
    with suppress(FileNotFoundError):
        shutil.copyfile(f"{RECORDER}.log", "networks/log.txt")


def main(archive: str, command: str, seconds: float, packets: str) -> None:
    """Run the script, and keep the files that it wrote."""
    script, *arguments = json.loads(Path(command).read_text())
    before = unpack(archive)
    provide_programs(HERE)
    start_switch()
    with recorded(packets):
        status = run([*command_of(script), *arguments], seconds)
    written = Path("files")
    written.mkdir()
    keep(before, written)
    Path("status.json").write_text(json.dumps({"status": status}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]), sys.argv[4])
