"""Store the records of trials: inputs and outputs, at an address that is the hash of the inputs."""
