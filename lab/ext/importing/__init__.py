"""Write topologies from other tools' files: `lab import`."""

from lab.ext import Extension

EXTENSION = Extension(
    commands=("import",),
    section="Networks",
    examples={
        "import": (
            "lab import net.clab.yml -o topologies/net.yaml",
            "lab import setup.sh --set RATE=10mbit -o setup.yaml",
            "lab import lte.up lte.down -o lte.yaml",
            "lab import campus.py --topo campus,3 -o campus.yaml",
        )
    },
    functions=("import_topology",),
)
