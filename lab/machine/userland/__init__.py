"""Build folders of programs from locked packages: the userland of guests, and the compiler for their kernels."""
