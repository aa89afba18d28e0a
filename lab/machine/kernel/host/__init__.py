"""Run trials on the running kernel, in namespaces."""
