"""Define the commands, by subject. Each calls `lab.app` or a layer, prints the answer, and ends with its exit code."""
