"""Topologies and experiments, from files to frozen objects, with every mistake at its line."""
