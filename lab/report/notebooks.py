"""Find notebooks, and execute them on a store of records."""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lab import shipped
from lab.errors import InputError, LabError, MachineError
from lab.report import stint

__all__ = [
    "INDEX",
    "PAGES",
    "RESULTS",
    "Compared",
    "NotebookFailed",
    "compared_there",
    "execute",
    "found",
    "in_report",
    "kernels",
]

INDEX = "index"
KERNELS = "kernels"  # the page of two kernels
RESULTS, PAGES = "LAB_RESULTS", "LAB_PAGES"  # tell a notebook where the records are and where its page will be
COMPARED = "LAB_COMPARED"  # tells the page of two kernels which ones
_SECONDS = 600  # of the processor's time for one cell: a capture of a million packets takes two
_REMARK = 600.0  # seconds after which notebooks that are still executed are named
_FOR_EVER = 10**8  # seconds, where nbclient's default would be a limit of the clock on the wall


class NotebookFailed(LabError):
    """A cell raised an error; the message says which cell, and what."""


def found() -> dict[str, Path]:
    """Return name -> notebook of the index and of every article, the current directory's before the project's own.

    An article's notebook has the name of its folder of experiments next to it: other notebooks are nobody's here.
    """
    return _found(lambda root, name: name == INDEX or (root / "experiments" / name).is_dir())


def kernels() -> Path:
    """Return the notebook of two kernels.

    Raises InputError when there is none.
    """
    found = _found(lambda _, name: name == KERNELS)
    if not found:
        raise InputError(f"there is no notebooks/{KERNELS}.ipynb here, nor in the project")
    return found[KERNELS]


def _found(wanted: Callable[[Path, str], bool]) -> dict[str, Path]:
    notebooks: dict[str, Path] = {}
    for root in shipped.places():
        for path in sorted((root / "notebooks").glob("*.ipynb")):
            if wanted(root, path.stem):
                notebooks.setdefault(path.stem, path)
    return notebooks


def in_report() -> bool:
    """Return whether the current notebook becomes a page of a report."""
    return PAGES in os.environ


@dataclass(frozen=True, slots=True)
class Compared:
    """The page of two kernels is about these."""

    base: str | None = None  # the first kernel's id; None: any
    new: str | None = None  # the second's
    against: Path | None = None  # the store of the first; None: the second's
    interest: float | None = None  # the smallest relative change of a figure that matters; None: the usual one
    claims: tuple[str, ...] = ()  # as the command names them; none: all


def compared_there() -> Compared:
    """Return what the notebook that we are in is to compare, as `execute` was told; nothing in any other."""
    plain = json.loads(os.environ.get(COMPARED, "{}"))
    against = Path(plain["against"]) if plain.get("against") else None
    return Compared(plain.get("base"), plain.get("new"), against, plain.get("interest"), tuple(plain.get("claims", ())))


def execute(
    paths: Sequence[Path], results: Path, pages: Path, say: Callable[[str], None], compared: Compared = Compared()
) -> list[Any]:
    """Execute the notebooks in parallel, each in a kernel of its own, and return them with their outputs.

    What their cells write to standard error goes to `say`, not into them. A cell may wait as long as it will, and
    compute for ten minutes. Raises NotebookFailed for the first cell that fails, InputError for a file that is no
    notebook, MachineError when no kernel starts.
    """
    against = str(compared.against.resolve()) if compared.against else None
    about = {**asdict(compared), "against": against}
    environment = {**os.environ, RESULTS: str(results.resolve()), PAGES: str(pages.resolve())}
    environment |= {COMPARED: json.dumps(about), stint.SECONDS: str(_SECONDS)}
    kernels = _Kernels()
    with ThreadPoolExecutor(min(len(os.sched_getaffinity(0)), len(paths))) as pool:
        # The longest first, so that no core waits for it at the end: it has the most outputs, where they are stored.
        longest_first = sorted(paths, key=lambda path: path.stat().st_size if path.is_file() else 0, reverse=True)
        tasks = {path: pool.submit(_execute, path, environment, kernels) for path in longest_first}
        futures = {tasks[path]: path for path in paths}
        running = {*futures}
        try:
            while running:
                ended, running = wait(running, _REMARK, FIRST_COMPLETED)
                for future in ended:
                    future.result()
                if not ended:
                    names = sorted(futures[future].name for future in running if future.running())
                    say(f"still at {', '.join(names)}")
        except BaseException:
            for future in futures:
                future.cancel()
            kernels.end()
            raise
    executed = [future.result() for future in futures]
    for path, notebook in zip(paths, executed, strict=True):
        _take_remarks(notebook, path, say)
    return executed


class _Kernels:
    """These kernels run, and all of them can be ended from another thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: list[Any] = []
        self._over = False

    def add(self, manager: Any) -> None:
        with self._lock:
            self._running.append(manager)
            if self._over:
                self._kill(manager)

    def remove(self, manager: Any) -> None:
        with self._lock:
            if manager in self._running:
                self._running.remove(manager)

    def end(self) -> None:
        with self._lock:
            self._over = True
            for manager in self._running:
                self._kill(manager)

    def _kill(self, manager: Any) -> None:
        if manager.has_kernel and manager.provisioner.pid:
            with suppress(ProcessLookupError):
                os.kill(manager.provisioner.pid, signal.SIGKILL)


def _execute(path: Path, environment: Mapping[str, str], kernels: _Kernels) -> Any:
    import nbformat
    from jupyter_client.kernelspec import KernelSpecManager
    from jupyter_client.manager import AsyncKernelManager
    from jupyter_core.utils import ensure_event_loop
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, DeadKernelError

    try:
        notebook = nbformat.read(path, as_version=4)
    except (OSError, ValueError, nbformat.ValidationError) as error:
        raise InputError(f"{path} cannot be read as a notebook: {error}") from error
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.execution_count = None  # that of the stored outputs: a message names the cell that was executed last
    with tempfile.TemporaryDirectory(prefix="lab-") as private:
        manager = AsyncKernelManager(
            kernel_spec_manager=KernelSpecManager(kernel_dirs=[]),  # Python's own, whatever else is registered
            connection_file=f"{private}/kernel.json",
            transport="ipc",  # sockets in a folder of ours, out of everybody else's reach
            ip=f"{private}/kernel",
        )
        client = NotebookClient(
            notebook,
            km=manager,
            timeout=None,
            startup_timeout=_FOR_EVER,
            iopub_timeout=_FOR_EVER,  # it would leave out what a cell shows
            extra_arguments=[f"--InteractiveShellApp.extensions={stint.__name__}"],
            resources={"metadata": {"path": str(Path.cwd())}},
            on_notebook_start=lambda **_: kernels.add(manager),
        )
        try:
            # No history and no start-up files of the user's.
            client.execute(env={**environment, "IPYTHONDIR": private}, cleanup_kc=True)
        except CellExecutionError as error:
            raise NotebookFailed(f"{path.name}, {_cell(notebook)}: {error.ename}: {error.evalue}") from None
        except DeadKernelError as error:
            raise NotebookFailed(f"{path.name}, {_cell(notebook)}: {str(error).splitlines()[0]}") from None
        except (OSError, RuntimeError) as error:
            raise MachineError(f"no Jupyter kernel starts with {sys.executable}: {error}") from error
        finally:
            kernels.remove(manager)
            ensure_event_loop().close()  # nbclient's, of this thread
    return notebook


def _cell(notebook: Any) -> str:
    """Return the last cell that was executed, by number and first line."""
    code = [(number, cell) for number, cell in enumerate(notebook.cells, 1) if cell.cell_type == "code"]
    number, cell = max(code, key=lambda each: each[1].execution_count or 0)
    return f"cell {number} `{cell.source.splitlines()[0] if cell.source else ''}`"


def _take_remarks(notebook: Any, path: Path, say: Callable[[str], None]) -> None:
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            if output.get("name") == "stderr":
                say(f"{path.name}: {' '.join(output.text.split())}")
        if "outputs" in cell:
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
