"""One suite per promise, run on every surface."""
