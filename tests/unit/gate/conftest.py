"""A database and a desk for each test."""

from tests.unit.approvals.conftest import office, place

__all__ = ["office", "place"]
