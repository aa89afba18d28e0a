"""Build a kernel as user-mode Linux (source, recipe, cache) and start it as a guest."""
