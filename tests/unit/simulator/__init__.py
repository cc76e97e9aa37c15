"""Tests of the simulator against clients that do not come from this project."""
