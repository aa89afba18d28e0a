"""Find the kernel's own network tests, compile the programs that they start, and pack each for a guest."""
