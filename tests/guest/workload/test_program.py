"""A program of the experiment's own runs in a guest, by its bytes; what goes wrong with it is said in one message."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from lab import metric
from lab.base import cache as caches
from lab.guest.workload import Bulk, Flow, Flows, Listens, Prints, Program
from lab.machine.kernel import Budget, GuestError, UmlKernel
from lab.machine.userland import cache as userlands
from lab.metric import MetricError
from lab.runner import programs
from lab.runner.guest import TrialFailed
from lab.runner.plan import Settings, plan
from lab.spec import find
from lab.spec.errors import SpecError
from lab.units import Duration, Size, UnitError, to_plain
from tests.kinds import Perform

PAIR = '''\
#!/usr/bin/python3
"""Answers each line with its length, over TCP: `pair.py serve PORT`, `pair.py ask ADDRESS PORT`."""
import json, socket, sys, time
if sys.argv[1] == "serve":
    with socket.create_server(("", int(sys.argv[2]))) as server:
        sock = server.accept()[0]
        while line := sock.recv(100):
            sock.sendall(b"%d\\n" % len(line))
else:
    sock = socket.create_connection((sys.argv[2], int(sys.argv[3])))
    begin = time.monotonic_ns()
    for _ in range(10):
        sock.sendall(b"hello\\n")
        answer = sock.recv(100)
    took = (time.monotonic_ns() - begin) / 1e6
    print(json.dumps({"answer": int(answer), "times": {"all": took}}))
    print(f"took {took:.6f} ms", file=sys.stderr)
    open("own.txt", "w").write(f"{took}\\n")
'''
C = r"""
#include <stdio.h>
#include <time.h>
int main(int argc, char **argv)
{
    struct timespec wait = {0, 250000000}, before, after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    nanosleep(&wait, 0);
    clock_gettime(CLOCK_MONOTONIC, &after);
    printf("%s %ld us\n", argv[1], (after.tv_sec - before.tv_sec) * 1000000 + (after.tv_nsec - before.tv_nsec) / 1000);
    return 0;
}
"""
DAEMON = "import os, time; os.fork() or os.setsid() or os.fork() or time.sleep(500)"


def given(program: Program, **files: str) -> Program:
    """The program with these files; '.' in a name is written '_'."""
    return program.with_files(lambda name: files[name.replace(".", "_")].encode())


def talk() -> Program:
    return given(
        Program(
            argv=("pair.py", "ask", "{server}", "{port}"), service=("pair.py", "serve", "{port}"), files=("pair.py",)
        ),
        pair_py=PAIR,
    )


def shell(script: str, **more: Any) -> Program:
    return Program(argv=("sh", "-c", script), **more)


@pytest.mark.guest
def test_a_program_and_its_service_talk_and_are_measured(perform: Perform) -> None:
    record = perform("two-hosts", talk())
    assert metric.program_json("answer")(record).number == 6
    took = metric.program_json("times", "all", unit="ms")(record)
    assert took.unit == "s"
    assert took.number == pytest.approx(0.020, rel=0.01)  # ten round trips of 2 ms
    assert metric.program_match(r"^took (.*) ms", "ms", "program.err")(record).number == pytest.approx(took.number)
    assert float(record.text("program/own.txt")) / 1e3 == pytest.approx(took.number)
    with pytest.raises(MetricError, match=r"program\.out has no times > none: 'none' is missing"):
        metric.program_json("times", "none")(record)
    with pytest.raises(MetricError, match="no number at times"):
        metric.program_json("times")(record)
    with pytest.raises(MetricError, match="nothing in program"):
        metric.program_match(r"never (\d+)")(record)


def test_a_metric_that_cannot_be_meant_is_refused() -> None:
    with pytest.raises(UnitError, match="'furlong' is not a unit"):
        metric.program_json("a", unit="furlong")
    with pytest.raises(ValueError, match="has 0 groups"):
        metric.program_match("took")


@pytest.mark.guest
def test_a_c_source_is_compiled_for_the_trial(perform: Perform) -> None:
    program = given(Program(argv=("nap", "slept"), sources=("nap.c",)), nap_c=C)
    record = perform("two-hosts", program)
    assert metric.program_match(r"slept (\d+) us", "us")(record).number == pytest.approx(0.25, abs=1e-4)
    assert sorted(each.name for each in record.folder.iterdir()) == [
        "console.log",
        "host.json",
        "out",
        "record.json",
        "trial.json",
    ]


@pytest.mark.guest
def test_a_program_runs_beside_a_transfer(perform: Perform) -> None:
    flows = Flows((Flow("load", Bulk(size=Size.of("1 MiB"))), Flow("talk", talk())))
    record = perform("shared-bottleneck", flows)
    assert metric.of_flow("talk", metric.program_json("answer"))(record).number == 6


@pytest.mark.guest
def test_it_leaves_the_same_bytes_idle_and_beside_a_load(
    perform: Perform, tmp_path: Path, busy: Callable[[], AbstractContextManager[None]]
) -> None:
    program = given(
        Program(
            argv=("sh", "-c", "pair.py ask {server} {port} && nap slept && date +%s%N && head -c 8 /dev/urandom | od"),
            service=("pair.py", "serve", "{port}"),
            files=("pair.py",),
            sources=("nap.c",),
        ),
        pair_py=PAIR,
        nap_c=C,
    )
    idle = perform("two-hosts", program, into=tmp_path / "idle")
    with busy():
        loaded = perform("two-hosts", program, into=tmp_path / "loaded")
    assert idle.outputs == loaded.outputs
    assert "program.out" in idle.outputs


@pytest.mark.guest
@pytest.mark.parametrize(
    ("program", "message"),
    [
        (Program(argv=("/nothing",)), r"'/nothing' cannot be started: No such file or directory"),
        (shell("echo half >&2; exit 3"), "'sh' ended with status 3: half"),
        (shell("kill -SEGV $$"), "'sh' was ended by SIGSEGV: "),
        (shell("echo waiting; sleep 100", limit=Duration.of("2 s")), "did not end within 2 s .*: waiting"),
        (shell("while :; do :; done", limit=Duration.of("2 s")), "did not end within 2 s"),
        (shell("(sleep 500 &) ; sleep 400 & exit 0"), "'sh' ended, and left processes behind: sleep, sleep"),
        (Program(argv=("python3", "-c", DAEMON)), "'python3' ended, and left processes behind: python3"),
        (shell("true", service=("sh", "-c", "exit 4")), "'sh' ended with status 4"),
        (shell("true", service=("sleep", "500")), "nothing listens on port 7000"),
        (shell("true", service=("sleep", "500"), ready=Prints("ready")), "'sleep' never wrote 'ready'"),
        (
            shell("exit 1", service=("sh", "-c", "echo up; sleep 1; exit 5"), ready=Prints("up")),
            "'sh' ended with status",
        ),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_what_goes_wrong_is_said_in_one_message(perform: Perform, program: Program, message: str) -> None:
    with pytest.raises(TrialFailed, match=message) as error:
        perform("two-hosts", program)
    assert "\n" not in str(error.value)


@pytest.mark.guest
def test_a_program_that_fills_the_disk_is_ended(perform: Perform, tmp_path: Path) -> None:
    writer = shell("exec cat /dev/zero >big")
    with pytest.raises(GuestError, match="wrote more than 64 MiB to its folder"):
        perform("two-hosts", writer, budget=Budget(disk=Size.of("64 MiB")), into=tmp_path)
    assert not list(tmp_path.rglob("big"))


@pytest.mark.guest
def test_a_service_that_needs_udp_or_says_so_is_waited_for(perform: Perform) -> None:
    script = "import socket, time; s = socket.socket(type=socket.SOCK_DGRAM); s.bind(('', {port})); time.sleep(99)"
    perform("two-hosts", shell("true", service=("python3", "-c", script), ready=Listens("udp")))
    says = ("sh", "-c", "sleep 1; echo here; exec sleep 99")
    record = perform("two-hosts", shell("cat ../service.out", service=says, ready=Prints("here")))
    assert record.text("program.out") == "here\n"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"argv": ()}, "needs a command"),
        ({"argv": ("a",), "files": ("../a",)}, "no name of a file beside the experiment"),
        ({"argv": ("a",), "sources": ("a.py",)}, "no C source"),
        ({"argv": ("lib/run",), "files": ("lib/",)}, "'lib/run' would not be found: write '{files}/lib/run'"),
        ({"argv": ("a",), "service": ("./b",)}, "'./b' would not be found: write '{files}/b'"),
    ],
)
def test_a_program_that_cannot_be_meant_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Program(**fields)


def test_files_are_part_of_the_inputs_to_the_byte() -> None:
    one, other = (given(Program(argv=("a",), files=("a",)), a=text) for text in ("x", "y"))
    assert one.contents != other.contents
    assert (one.content("a"), other.content("a")) == (b"x", b"y")
    with pytest.raises(ValueError, match="too many"):
        Program(argv=("a",), files=("a",)).with_files(lambda _: bytes(9 << 20))
    with pytest.raises(ValueError, match="lacks the file 'b'"):
        one.content("b")


def test_a_file_that_is_named_twice_is_there_once() -> None:
    program = Program(argv=("a",), files=("lib/", "lib/run", "lib/", "a", "a"), sources=("b.c", "b.c"))
    found = program.with_files(lambda _: b"", lambda folder: [f"{folder}data", f"{folder}run"])
    assert found.files == ("lib/data", "lib/run", "a")
    assert found.sources == ("b.c",)


@pytest.mark.parametrize("files", [("lib/",), ("lib",)])
def test_a_source_whose_program_has_the_name_of_a_file_is_refused(files: tuple[str, ...]) -> None:
    program = Program(argv=("lib",), files=files, sources=("lib.c",))
    with pytest.raises(ValueError, match=r"'lib\.c' would compile to 'lib', the name of another file"):
        program.with_files(lambda _: b"", lambda folder: [f"{folder}sub/run"])


EXPERIMENT = '''\
"""A program does as it says."""

from lab import Arm, Exactly, Experiment, Program, Reported, metric

EXPERIMENT = Experiment(
    topology="two-hosts",
    workload=Program({fields}),
    metric=metric.program_match(r"(\\d+)"),
    arms=(
        Arm("only", Reported(6, "six")),
    ),
    tolerance=Exactly(because="it is a count"),
)
'''


def written(folder: Path, fields: str, **files: str) -> Path:
    path = folder / "experiments" / "mine" / "one.py"
    path.parent.mkdir(parents=True)
    path.write_text(EXPERIMENT.format(fields=fields))
    for name, text in files.items():
        (path.parent / name.replace("_", ".")).write_text(text)
    return path


@pytest.mark.guest
@pytest.mark.parametrize(
    ("fields", "files", "message"),
    [
        ("('no-such-program',)", {}, "one.py:10: arm 'only': there is no program 'no-such-program' in the userland"),
        ("('a',), files=('a',)", {}, "one.py:10: arm 'only': file 'a' cannot be read: no such file"),
        ("('bad',), sources=('bad.c',)", {"bad_c": "int main(void)\n{ return x; }\n"}, "bad.c:2: .*undeclared"),
        ("()", {}, "one.py:7: a program needs a command"),
    ],
)
def test_a_mistake_has_its_file_and_line(
    tmp_path: Path, kernel: UmlKernel, fields: str, files: dict[str, str], message: str
) -> None:
    path = written(tmp_path, fields, **files)
    with pytest.raises(SpecError, match=message):
        plan(find.find([str(path)]), Settings(kernel, userland=userlands.find("guest")))


@pytest.mark.guest
def test_another_content_or_source_is_another_trial(tmp_path: Path, kernel: UmlKernel) -> None:
    path = written(tmp_path, "('sh', '-c', 'echo 6'), files=('data',), sources=('nap.c',)", data="1", nap_c=C)
    addresses = set()
    for name, text in (("data", "1"), ("data", "2"), ("nap.c", C + "\n"), ("data", "1")):
        (path.parent / name).write_text(text)
        ((planned,),) = [plan(find.find([str(path)]), Settings(kernel, userland=userlands.find("guest")))]
        addresses.add(planned.trials[0].address)
        assert planned.trials[0].tools["cc"] == userlands.find("compiler").id
    assert len(addresses) == 4


def test_two_compilations_make_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program, folder = given(Program(argv=("nap",), sources=("nap.c",)), nap_c=C), caches.folder
    for name in ("one", "two"):
        own = tmp_path / "caches" / name
        monkeypatch.setattr(caches, "folder", lambda what, own=own: own if what == "programs" else folder(what))
        programs.place(to_plain(program), {}, tmp_path / name)
        assert list(own.iterdir())
    assert (tmp_path / "one" / "nap").read_bytes() == (tmp_path / "two" / "nap").read_bytes()


@pytest.mark.guest
def test_a_folder_is_in_the_guest(perform: Perform) -> None:
    files = {
        "tools/run.py": "#!/usr/bin/python3\nimport os, sys, helper\nprint(helper.N, *os.listdir(sys.path[0]))\n",
        "tools/helper.py": "N = 6\n",
        "tools/data/a.txt": "1",
    }
    program = Program(argv=("{files}/tools/run.py",), files=("tools/",)).with_files(
        lambda name: files[name].encode(), lambda folder: [name for name in files if name.startswith(folder)]
    )
    assert program.files == tuple(files)
    record = perform("two-hosts", program)
    first, *names = record.text("program.out").split()
    assert first == "6"
    assert set(names) >= {"run.py", "helper.py", "data"}
