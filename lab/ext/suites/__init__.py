"""Run tests of others in guests: packetdrill's scripts, and the kernel's network tests."""
