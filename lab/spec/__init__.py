"""Read topologies and experiments from files into frozen objects, and report every mistake with its line."""
