"""What the tests of jobs share."""

import pytest

from tests.unit.approvals.conftest import office, place
from tests.unit.approvals.office import Office
from tests.unit.cron.house import SEVEN, Flow, House, ended

__all__ = ["house", "office", "place"]


@pytest.fixture
async def house(office: Office) -> House:
    """At seven in the morning."""
    office.clock.now = SEVEN
    return House(office, Flow(ended("3 pools healthy.")))
