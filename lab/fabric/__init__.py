"""Networks made real: namespaces and wires, every setting read back."""
