"""Define the commands about kernels under test: `lab kernel ...`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lab.cli import output
from lab.cli.output import Json
from lab.errors import InputError

if TYPE_CHECKING:
    from lab.kernel import UmlKernel

kernels = typer.Typer(help="Build, fetch, take and list kernels under test.", no_args_is_help=True)


@kernels.command("build")
def build_kernel(
    name: Annotated[
        str | None,
        typer.Argument(help="A series such as 7.2, or a name that starts with one; the newest unless named."),
    ] = None,
    patch: Annotated[list[Path] | None, typer.Option(help="A patch to apply. Repeatable.")] = None,
    config: Annotated[
        list[Path] | None,
        typer.Option(help="A fragment of configuration, laid over the lab's. Repeatable.", metavar="FRAGMENT"),
    ] = None,
    hz: Annotated[int, typer.Option(help="Timer ticks per second, 100 to 1000.")] = 1000,
    source: Annotated[Path | None, typer.Option(help="Build this .deb or tar file, not the packaged source.")] = None,
    tree: Annotated[
        Path | None, typer.Option(help="Build this source tree, as it stands, instead.", metavar="DIR")
    ] = None,
    variants: Annotated[
        bool, typer.Option("--variants", help="Also build the variants that experiments need.")
    ] = False,
    refresh: Annotated[bool, typer.Option(help="Look for a newer source first.")] = False,
    as_json: Json = False,
) -> None:
    """Build a kernel under test, or find it in the cache."""
    from functools import partial

    from lab.building import shown
    from lab.kernel.uml import builder
    from lab.kernel.uml.cache import series
    from lab.spec import find

    if source and tree:
        raise InputError("the source is --source or --tree, not both")
    with shown() as progress:
        build = partial(builder.build, source_file=source, progress=progress)
        kernel = build(name, patch or (), hz, config=config or (), tree=tree, refresh=refresh)
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
        str | None, typer.Argument(help="A series such as 6.12, the newest unless named; or the path of an image.")
    ] = None,
    modules: Annotated[
        Path | None, typer.Option(help="The image's modules; /lib/modules/RELEASE unless given.", metavar="DIR")
    ] = None,
    as_json: Json = False,
) -> None:
    """Fetch a distribution's kernel for --on vm.

    The kernel is not installed. One that was fetched before is found in the cache.
    """
    from lab.building import shown
    from lab.kernel.vm import stock

    if name is not None and "/" in name:
        kernel = stock.adopt(Path(name), modules)
    elif modules is not None:
        raise InputError("--modules is for an image given by its path, as ./bzImage")
    else:
        with shown() as progress:
            kernel = stock.fetch(name, progress)
    said = f"kernel {kernel.name}: version {kernel.version}, release {kernel.release}, id {kernel.id}"
    output.answer(kernel.describe(), lambda: said, as_json)


@kernels.command("take")
def take_kernels(
    bundle: Annotated[Path, typer.Argument(help="A bundle's file.", metavar="FILE")],
    as_json: Json = False,
) -> None:
    """Take a bundle's kernels and userlands into the cache, as if they had been made here; nothing is built.

    Only for who trusts the bundle: `lab run --from` runs on its kernels without that.
    """
    from lab.usecases import unbundling

    taken = unbundling.take(bundle).kernels
    plain = [each.describe() for each in taken]
    output.answer({"kernels": plain}, lambda: "\n".join(map(_line, taken)), as_json)


@kernels.command("list")
def list_kernels(as_json: Json = False) -> None:
    """List the kernels that were built or fetched here."""
    from lab.cli import listing

    plain = listing.kernels()
    output.answer({"kernels": plain}, lambda: listing.render_kernels(plain), as_json)


def _line(kernel: UmlKernel) -> str:
    return f"kernel {kernel.name}: version {kernel.version}, HZ {kernel.hz}, id {kernel.id}"
