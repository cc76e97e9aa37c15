"""Tests of mtbot/redaction."""
