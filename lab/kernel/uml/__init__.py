"""A kernel built as user-mode Linux: its source, recipe and cache, and how it starts as a guest."""
