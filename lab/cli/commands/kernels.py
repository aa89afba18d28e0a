"""Define the commands for kernels under test: `lab kernel ...`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lab.cli import output
from lab.cli.options import Claims, KernelName, On, Results, Seed, Trust
from lab.cli.output import Json
from lab.errors import InputError

if TYPE_CHECKING:
    from lab.machine.kernel import UmlKernel
    from lab.machine.kernel.uml.pruning import Pruning

kernels = typer.Typer(help="Build, fetch, take and list kernels under test.", no_args_is_help=True)


@kernels.command("build")
def build_kernel(
    name: Annotated[
        str | None,
        typer.Argument(
            help="A kernel series such as 7.2, or a name that starts with a series. Default: the newest series."
        ),
    ] = None,
    patch: Annotated[
        list[Path] | None, typer.Option(help="A patch file to apply to the source. Repeatable.", metavar="FILE")
    ] = None,
    file: Annotated[
        list[Path] | None,
        typer.Option(
            help="A C file of the kernel's network code or timers with changes, such as tcp_cubic.c, or a new "
            "congestion control in one C file. Such a kernel takes seconds. Repeatable.",
            metavar="FILE.c",
        ),
    ] = None,
    config: Annotated[
        list[Path] | None,
        typer.Option(
            help="A configuration fragment to add to the lab's kernel configuration. Repeatable.", metavar="FRAGMENT"
        ),
    ] = None,
    hz: Annotated[int, typer.Option(help="Timer ticks per second (HZ), from 100 to 1000.")] = 1000,
    source: Annotated[
        Path | None,
        typer.Option(
            help="Build the kernel source in this .deb or tar file instead of the packaged source.", metavar="FILE"
        ),
    ] = None,
    tree: Annotated[
        Path | None, typer.Option(help="Build this kernel source tree in its present state.", metavar="DIR")
    ] = None,
    variants: Annotated[
        bool, typer.Option("--variants", help="Also build the kernel variants that experiments need.")
    ] = False,
    refresh: Annotated[bool, typer.Option(help="Check for a newer source before the build.")] = False,
    trust: Trust = False,
    as_json: Json = False,
) -> None:
    """Build a kernel under test, or reuse it from the cache."""
    from functools import partial

    from lab.base.building import shown
    from lab.machine.kernel.uml import builder
    from lab.machine.kernel.uml.cache import series
    from lab.spec import find

    if source and tree:
        raise InputError("--source and --tree contradict each other; give one of them")
    if file and tree:
        raise InputError("--file and --tree contradict each other; change the file in the tree")
    with shown() as progress:
        build = partial(builder.build, source_file=source, progress=progress, trust=trust)
        kernel = build(name, patch or (), hz, config=config or (), files=file or (), tree=tree, refresh=refresh)
        also = [
            build(
                None if each.tree else series(kernel.name),
                each.patches,
                each.hz or hz,
                config=each.config,
                tree=each.tree or tree,
            )
            for each in (find.variants() if variants else ())
        ]
    built = [kernel, *also]
    plain = [each.describe() for each in built]
    output.answer({"kernels": plain} if also else plain[0], lambda: "\n".join(map(_line, built)), as_json)


@kernels.command("fetch")
def fetch_kernel(
    name: Annotated[
        str | None,
        typer.Argument(help="A kernel series such as 6.12, or the path of a kernel image. Default: the newest series."),
    ] = None,
    modules: Annotated[
        Path | None,
        typer.Option(
            help="The folder with the modules of the kernel image. Default: /lib/modules/RELEASE.",
            metavar="DIR",
            exists=True,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Fetch a distribution kernel for --on vm.

    The command stores the kernel in the cache, and does not install it.
    """
    from lab.base.building import shown
    from lab.machine.kernel.vm import stock

    if name is not None and ("/" in name or Path(name).is_file()):
        kernel = stock.adopt(Path(name), modules)
    elif modules is not None:
        raise InputError("--modules needs the path of an image; name one, such as ./bzImage")
    else:
        with shown() as progress:
            kernel = stock.fetch(name, progress)
    said = f"kernel {kernel.name}: version {kernel.version}, release {kernel.release}, id {kernel.id}"
    output.answer(kernel.describe(), lambda: said, as_json)


@kernels.command("take")
def take_kernels(
    bundle: Annotated[Path, typer.Argument(help="A bundle file.", metavar="FILE")],
    as_json: Json = False,
) -> None:
    """Import the kernels and userlands of a bundle into the cache, as if they had been built here.

    Import only bundles that you trust. `lab run --from` does not require this trust.
    """
    from lab.app.extension import hook

    taken = hook("take", str(bundle))(bundle).kernels
    plain = [each.describe() for each in taken]
    output.answer({"kernels": plain}, lambda: "\n".join(map(_line, taken)), as_json)


@kernels.command("list")
def list_kernels(as_json: Json = False) -> None:
    """List the kernels that were built or fetched on this machine."""
    from lab.cli import listing

    plain = listing.kernels()
    output.answer({"kernels": plain}, lambda: listing.render_kernels(plain), as_json)


@kernels.command("prune")
def prune_kernels(
    keep: Annotated[
        int, typer.Option(help="Keep this number of the newest kernels of each name.", metavar="N", min=1)
    ] = 3,
    remove: Annotated[bool, typer.Option(help="Remove the kernels. Default: only list them.")] = False,
    as_json: Json = False,
) -> None:
    """Remove old kernels of changed C files.

    The command never removes a kernel that a run uses, or that this version of the lab cannot build again. The patches
    stay in the cache. So if a record names a removed kernel, you can build it again in seconds.
    """
    from lab.base.building import shown
    from lab.machine.kernel.uml import pruning

    with shown() as progress:
        found = pruning.prune(progress, keep, remove)
    output.answer(found.plain(), lambda: "\n".join([*map(_line, found.kernels), _pruned(found)]), as_json)


@kernels.command("baseline")
def save_baseline(
    name: Annotated[str, typer.Argument(help="A name for the baseline.")],
    claims: Claims = None,
    kernel: KernelName = None,
    on: On = "uml",
    seed: Seed = 1,
    results: Results = None,
    as_json: Json = False,
) -> None:
    """Save a kernel's records as a baseline for comparison with later kernels."""
    from lab.app.extension import hook
    from lab.report.wording import plural

    save = hook("baseline", "lab kernel baseline")
    kept = save(name, *claims or (), kernel=kernel, on=on, seed=seed, results=results)
    said = f"baseline {name}: {plural(kept.records, 'record')} in {kept.folder}"
    output.answer(kept.plain(), lambda: said, as_json)


def _pruned(found: Pruning) -> str:
    from lab.report.wording import plural

    said = f"{plural(len(found.kernels), 'kernel')}, {found.bytes >> 20} MiB"
    if found.removed or not found.kernels:
        return f"removed: {said}"
    return f"to remove: {said}; add --remove"


def _line(kernel: UmlKernel) -> str:
    return f"kernel {kernel.name}: version {kernel.version}, HZ {kernel.hz}, id {kernel.id}"
