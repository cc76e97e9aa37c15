"""A database, a desk and a gate for each test."""

from pathlib import Path

import pytest

from tests.unit.approvals.conftest import office, place
from tests.unit.approvals.office import Office
from tests.unit.gate.houses import House

__all__ = ["house", "office", "place"]


@pytest.fixture
def house(office: Office, tmp_path: Path) -> House:
    """A gate in an empty directory."""
    return House(office, str(tmp_path))
