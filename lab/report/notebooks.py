"""Find notebooks, and execute them with a store of records."""

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
from dataclasses import replace
from pathlib import Path
from typing import Any

from lab.base.moving import entries
from lab.errors import InputError, LabError, MachineError
from lab.report import stint
from lab.report.told import Compared, Told, arguments, told
from lab.spec import shipped
from lab.verdict import measured
from lab.verdict.measured import MeasuredClaims

INDEX = "index"
KERNELS = "kernels"  # the page of two kernels
RESULTS = "LAB_RESULTS"  # the variable with the default store, which is set for notebooks, too
_SECONDS = 600  # of CPU time for one cell: a capture of a million packets takes two
_REMARK = 600.0  # seconds after which a remark names the notebooks that still run
_FOR_EVER = 10**8  # seconds: nbclient's own limit would count wall-clock time


class NotebookFailed(LabError):
    """Raised if a notebook cell raised an error. The message names the cell and the error."""


def found() -> dict[str, Path]:
    """Return the index notebook and the article notebooks, by name. The project's notebooks take precedence.

    An article's notebook is named after the article's experiment folder in the same project. Other notebooks are
    ignored.
    """
    return _found(lambda root, name: name == INDEX or (root / "experiments" / name).is_dir())


def bare() -> dict[str, list[str]]:
    """Return the claims, by article, of the project's articles that have no notebook."""
    having, claims = found(), dict[str, list[str]]()
    for folder in entries(shipped.project() / shipped.EXPERIMENTS):
        files = shipped.experiments(folder)
        if files and folder.name not in having:
            claims[folder.name] = [path.stem for path in files]
    return claims


def write_default(path: Path, article: str | Sequence[str], claims: Sequence[str]) -> None:
    """Write a notebook that shows an article and each claim with its figure, as a starting point for the user.

    Instead of a name, `article` may have the files of the article's experiments.
    """
    import nbformat

    cells = [f"import lab\n\narticle = lab.article({json.dumps(article)})\narticle", "article.table()"]
    for name in claims:
        cells += [f'article["{name}"]', f'article["{name}"].plot()']
    cells.append("article.test_bed()")
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    for number, cell in enumerate(made.cells):
        cell.id = f"default-{number}"  # a random id would change the file each time
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(made, path)


def articles_there() -> tuple[str, ...] | None:
    """Return the articles with pages in the report of the current notebook, or None outside a report."""
    there = told()
    return there.articles if there else None


def already_measured() -> MeasuredClaims:
    """Return the figures that earlier notebooks of the current notebook's report measured."""
    there = told()
    return measured.read(json.loads(there.measured.read_bytes())) if there and there.measured else {}


def kernels() -> Path:
    """Return the notebook that compares two kernels.

    Raises InputError if the notebook does not exist.
    """
    found = _found(lambda _, name: name == KERNELS)
    if not found:
        raise InputError(f"there is no notebooks/{KERNELS}.ipynb here, nor in the project")
    return found[KERNELS]


def _found(wanted: Callable[[Path, str], bool]) -> dict[str, Path]:
    notebooks: dict[str, Path] = {}
    for root in shipped.places():
        for path in entries(root / "notebooks"):
            if path.suffix == ".ipynb" and wanted(root, path.stem):
                notebooks.setdefault(path.stem, path)
    return notebooks


def in_report() -> bool:
    """Return whether the current notebook becomes a page of a report."""
    return told() is not None


def read(path: Path) -> Any:
    """Return the notebook in a file. Raises InputError for a file that is not a notebook."""
    import nbformat

    try:
        return nbformat.read(path, as_version=4)
    except (OSError, ValueError, nbformat.ValidationError) as error:
        raise InputError(f"{path} cannot be read as a notebook: {error}") from error


def execute(
    sources: Mapping[Path, Any],
    results: Path,
    say: Callable[[str], None],
    compared: Compared = Compared(),
    articles: Sequence[str] | None = None,
    figures: Sequence[Sequence[Any]] = (),
    ended: Callable[[Path, Any], None] | None = None,
) -> list[Any]:
    """Execute the notebooks in parallel, each in its own kernel, and return them with their outputs.

    `sources` has the notebooks by file. The function calls `ended` with each notebook as soon as it has its outputs.
    The cells' standard error goes to `say`, and not into the notebooks. The index lists `articles` (default: all).
    `figures` has the rows of `lab.report.answer.figures` of earlier notebooks. A cell may wait without a limit, but may
    compute for only ten minutes. Raises NotebookFailed for the first cell that fails, and MachineError if no kernel
    starts.
    """
    environment = {**os.environ, RESULTS: str(results.resolve())}
    about = Told(_SECONDS, None if articles is None else tuple(articles), compared)
    kernels = _Kernels()
    with (
        tempfile.TemporaryDirectory(prefix="lab-") as folder,
        ThreadPoolExecutor(min(len(os.sched_getaffinity(0)), len(sources)) or 1) as pool,
    ):
        if figures:
            about = replace(about, measured=Path(folder) / "figures.json")
            (Path(folder) / "figures.json").write_text(json.dumps(figures), encoding="utf-8")
        # The longest first, so that no core waits at the end. The largest file has the most stored outputs.
        longest_first = sorted(sources, key=lambda path: path.stat().st_size if path.is_file() else 0, reverse=True)
        tasks = {
            path: pool.submit(_execute, path, sources[path], environment, about, kernels) for path in longest_first
        }
        futures = {tasks[path]: path for path in sources}
        running = {*futures}
        try:
            while running:
                done, running = wait(running, _REMARK, FIRST_COMPLETED)
                for future in done:
                    _take_remarks(future.result(), futures[future], say)
                    if ended:
                        ended(futures[future], future.result())
                if not done:
                    names = sorted(futures[future].name for future in running if future.running())
                    say(f"still at {', '.join(names)}")
        except BaseException:
            for future in futures:
                future.cancel()
            kernels.end()
            raise
    return [future.result() for future in futures]


class _Kernels:
    """Holds the running kernels, so that another thread can end them."""

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


def _execute(path: Path, notebook: Any, environment: Mapping[str, str], about: Told, kernels: _Kernels) -> Any:
    from jupyter_client.kernelspec import KernelSpecManager
    from jupyter_client.manager import AsyncKernelManager
    from jupyter_core.utils import ensure_event_loop
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, DeadKernelError

    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.execution_count = None  # remove the stored counts: the highest count shows which cell ran last
    with tempfile.TemporaryDirectory(prefix="lab-") as private:
        manager = AsyncKernelManager(
            kernel_spec_manager=KernelSpecManager(kernel_dirs=[]),  # only Python's own kernel, without registered ones
            connection_file=f"{private}/kernel.json",
            transport="ipc",  # sockets in a private folder
            ip=f"{private}/kernel",
        )
        client = NotebookClient(
            notebook,
            km=manager,
            timeout=None,
            startup_timeout=_FOR_EVER,
            iopub_timeout=_FOR_EVER,  # its limit would drop a cell's output
            extra_arguments=arguments(about, [stint.__name__]),
            resources={"metadata": {"path": str(Path.cwd())}},
            on_notebook_start=lambda **_: kernels.add(manager),
        )
        try:
            # Without the user's history and start-up files.
            client.execute(env={**environment, "IPYTHONDIR": private}, cleanup_kc=True)
        except CellExecutionError as error:
            raise NotebookFailed(f"{path.name}, {_cell(notebook)}: {error.ename}: {error.evalue}") from None
        except DeadKernelError as error:
            raise NotebookFailed(f"{path.name}, {_cell(notebook)}: {str(error).splitlines()[0]}") from None
        except (OSError, RuntimeError) as error:
            raise MachineError(f"no Jupyter kernel starts with {sys.executable}: {error}") from error
        finally:
            kernels.remove(manager)
            ensure_event_loop().close()  # nbclient's loop for this thread
    return notebook


def _cell(notebook: Any) -> str:
    """Return the number and the first line of the cell that ran last."""
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
