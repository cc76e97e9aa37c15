"""The simulator against clients of other people."""
