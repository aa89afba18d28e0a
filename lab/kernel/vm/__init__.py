"""Distribution kernels under QEMU: `--on vm`."""
