"""The pure parts of the storage."""
