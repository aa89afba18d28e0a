"""Keep kernels, userlands, claims, records and pages in one file that any machine can check and start from."""
