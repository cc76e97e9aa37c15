"""Tests of mtbot/control."""
