"""Build packetdrill, which tests TCP by scripts of packets and system calls, and find scripts for it."""
