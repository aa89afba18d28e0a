"""Keep trials and their records: inputs and outputs, at an address that is the hash of the inputs."""
