"""`python -m tests.vm.box FILE`: the image of `make test-vm` as a box of Vagrant's, for libvirt.

    vagrant box add --name replab/trixie FILE && REPLAB_BOX=replab/trixie vagrant up --provider libvirt

It boots with the kernel beside it, since the image has no boot loader. It trusts the certificates that this machine
trusts.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from tests.vm import image
from tests.vm.__main__ import CACHE
from tests.vm.payload import CERTIFICATES

NEEDED = {
    "mmdebstrap": "mmdebstrap",
    "fakeroot": "fakeroot",
    "newuidmap": "uidmap",
    "qemu-img": "qemu-utils",
    "debugfs": "e2fsprogs",
}
VAGRANTFILE = """\
Vagrant.configure("2") do |config|
  config.vm.synced_folder ".", "/vagrant", type: "rsync"
  config.vm.provider "libvirt" do |machine|
    machine.kernel = File.expand_path("kernel", __dir__)
    machine.initrd = File.expand_path("initrd", __dir__)
    machine.cmd_line = "root=/dev/vda rw console=ttyS0 quiet"
    machine.disk_bus = "virtio"
  end
end
"""


def pack(base: image.Image, out: Path) -> None:
    """Write the box `out`. Raises CalledProcessError."""
    with tempfile.TemporaryDirectory(dir=out.parent) as scratch:
        folder = Path(scratch)
        disk = folder / "disk"
        subprocess.run(["cp", "--sparse=always", base.disk, disk], check=True)
        if CERTIFICATES.exists():
            _replace(disk, CERTIFICATES)
        subprocess.run(["qemu-img", "convert", "-O", "qcow2", disk, folder / "box.img"], check=True)
        shutil.copy(base.kernel, folder / "kernel")
        shutil.copy(base.initrd, folder / "initrd")
        (folder / "Vagrantfile").write_text(VAGRANTFILE)
        about = {"provider": "libvirt", "format": "qcow2", "virtual_size": image.GIB}
        (folder / "metadata.json").write_text(json.dumps(about))
        with tarfile.open(out, "w") as box:
            for name in ("metadata.json", "Vagrantfile", "kernel", "initrd", "box.img"):
                box.add(folder / name, name)


def _replace(disk: Path, file: Path) -> None:
    """Write a file of this machine over the one of that path on a disk of ext4; no mount, so no root, is needed."""
    commands = f"rm {file}\nwrite {file.resolve()} {file}\nset_inode_field {file} mode 0100644\n"
    commands += "".join(f"set_inode_field {file} {owner} 0\n" for owner in ("uid", "gid"))
    subprocess.run([_debugfs(), "-w", "-f", "-", disk], input=commands, text=True, check=True, capture_output=True)


def _debugfs() -> str:
    return shutil.which("debugfs", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin") or "debugfs"


def main() -> int:
    """The exit code: 0 written, 1 not, 3 this machine lacks what it takes."""
    parser = argparse.ArgumentParser(prog="python -m tests.vm.box", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--suite", default="trixie", help="of Debian; the Vagrantfile's unless given")
    options = parser.parse_args()
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    lacking = [package for tool, package in NEEDED.items() if not shutil.which(tool, path=path)]
    if lacking:
        print(f"box: sudo apt-get install {' '.join(lacking)}", file=sys.stderr)
        return 3
    try:
        pack(image.base(options.suite, CACHE / "vm"), options.file.absolute())
    except subprocess.CalledProcessError as error:
        print(f"box: no box of {options.suite}: {error}", file=sys.stderr)
        return 1
    print(f"vagrant box add --name replab/{options.suite} {options.file}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
