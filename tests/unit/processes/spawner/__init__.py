"""The spawner's own modules."""
