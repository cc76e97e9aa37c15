"""The record on disk: SQLite or PostgreSQL behind ports; the only package that knows SQL."""
