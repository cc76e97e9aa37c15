"""The decision: pure, total, one place."""
