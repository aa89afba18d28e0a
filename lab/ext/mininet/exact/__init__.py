"""Ship the lab's wires to a Mininet script's guest. All other files here run in the guest."""
