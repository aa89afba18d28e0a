"""Let the guest's reference controller serve more than 16 switches. Mininet's authors build it for 4,096.

Open vSwitch's controller takes its place in a guest. It accepts 16 switches, and lets all others wait forever. Here,
further controllers with the same options serve them: a thread accepts each switch that still waits after 10 ms from
the first controller's socket, and passes the bytes on. With up to 16 switches, nothing changes.
"""

from __future__ import annotations

import ctypes
import os
import select
import socket
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from threading import Thread

MOST = 16  # utilities/ovs-testcontroller.c, MAX_SWITCHES
PLACE = "/run/controllers"  # a pipe, into which `programs/controller` writes its process ID
PATIENCE_SECONDS = 0.01  # in virtual time, a controller that has room accepts a switch at once
STARTS_SECONDS = (0.01, 0.1, 1, 10)  # how long a controller may take until it listens
PIDFD_GETFD = 438  # of the system calls
EDGE = select.EPOLLIN | select.EPOLLET


class Crowd:
    """Holds the further controllers of one controller."""

    def __init__(self, process: int) -> None:
        self._process, self._handle = process, os.pidfd_open(process)
        self._helpers: list[tuple[subprocess.Popen[bytes], str, set[int]]] = []  # with socket, and switches

    def serve(self) -> None:
        """Serve the switches that the controller does not accept, until it ends."""
        with select.epoll() as watch:
            watch.register(self._handle, select.EPOLLIN)
            if self._listens(watch):
                while True:
                    watch.poll()
                    if self._ended(PATIENCE_SECONDS):
                        break
                    for listener in self._listeners():
                        with listener, suppress(BlockingIOError):
                            while True:
                                self._take(listener.accept()[0])
        for helper, place, _ in self._helpers:
            helper.kill()
            helper.wait()
            Path(place).unlink(missing_ok=True)
        os.close(self._handle)

    def _ended(self, seconds: float) -> bool:
        return bool(select.select([self._handle], [], [], seconds)[0])

    def _listens(self, watch: select.epoll) -> bool:
        """Watch the controller's sockets as soon as it listens. Return whether it does.

        The watch stays when the copies of the sockets are closed, and ends with the controller. A copy that stayed
        open would keep the port from the next controller.
        """
        for seconds in STARTS_SECONDS:
            if self._ended(seconds):
                return False
            if found := self._listeners():
                for listener in found:
                    watch.register(listener, EDGE)
                    listener.close()
                return True
        return False

    def _listeners(self) -> list[socket.socket]:
        """Return copies of the sockets on which the controller waits for switches."""
        found, libc = [], ctypes.CDLL(None)
        with suppress(OSError):  # the controller has ended
            for each in Path(f"/proc/{self._process}/fd").iterdir():
                if not str(each.readlink()).startswith("socket:"):
                    continue
                copy = libc.syscall(PIDFD_GETFD, self._handle, int(each.name), 0)
                if copy >= 0:
                    candidate = socket.socket(fileno=copy)
                    listens = candidate.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
                    if listens and candidate.family in (socket.AF_INET, socket.AF_INET6):
                        found.append(candidate)
                    else:
                        candidate.close()
        return found

    def _take(self, switch: socket.socket) -> None:
        """Connect a switch to a controller that has room."""
        switch.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        room = [each for each in self._helpers if len(each[2]) < MOST and each[0].poll() is None]
        _, place, served = room[0] if room else self._start()
        controller = socket.socket(socket.AF_UNIX)
        try:
            controller.connect(place)
        except OSError:  # it has ended; the switch connects again
            switch.close()
            return
        served.add(number := switch.fileno())

        def back() -> None:
            passed(controller, switch)
            served.discard(number)

        Thread(target=passed, args=(switch, controller), daemon=True).start()
        Thread(target=back, daemon=True).start()

    def _start(self) -> tuple[subprocess.Popen[bytes], str, set[int]]:
        """Start a further controller, with the options and the output of the first."""
        place = f"/run/controller-{self._process}-{len(self._helpers)}"
        own = Path(f"/proc/{self._process}")
        words = os.fsdecode((own / "cmdline").read_bytes()).split("\0")[:-1]
        options = [word for word in words if not word.startswith(("ptcp:", "pssl:"))]
        output = os.open(own / "fd/1", os.O_WRONLY | os.O_APPEND)
        helper = subprocess.Popen(
            [*options, f"punix:{place}"],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        os.close(output)
        while not Path(place).exists() and helper.poll() is None:
            time.sleep(PATIENCE_SECONDS)
        self._helpers.append((helper, place, set()))
        return self._helpers[-1]


def passed(start: socket.socket, end: socket.socket) -> None:
    """Pass on the bytes of one direction, until one side ends the connection."""
    with suppress(OSError):
        while data := start.recv(1 << 16):
            end.sendall(data)
    for each in (start, end):
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)


def attend() -> None:
    """Serve the switches of all controllers, in the background."""
    os.mkfifo(PLACE)
    pipe = os.open(PLACE, os.O_RDWR)

    def wait() -> None:
        with open(pipe) as started:
            for line in started:
                with suppress(OSError):  # the controller has ended
                    Thread(target=Crowd(int(line)).serve, daemon=True).start()

    Thread(target=wait, daemon=True).start()
