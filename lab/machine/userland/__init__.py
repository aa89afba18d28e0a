"""Make folders of programs from locked packages: the userland of guests, and the compiler of their kernels."""
