"""The running kernel, in namespaces."""
