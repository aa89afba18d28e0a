"""Run distribution kernels under QEMU: `--on vm`."""
