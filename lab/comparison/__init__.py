"""Compare two records of the same trial: whether their bytes are equal, and which packets differ."""
