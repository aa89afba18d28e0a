"""Define the commands, by subject: each asks `lab.api` or a layer, shows the answer, and ends with its exit code."""
