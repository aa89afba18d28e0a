"""Run third-party tests in guests: packetdrill scripts, and the kernel's network tests."""
