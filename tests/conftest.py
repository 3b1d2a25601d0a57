"""What all tests share: the same examples every time, and where the optional real data are."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("steady", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("steady")

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real recordings beside the checkout; tests that need them skip without."""
    folder = SHARED / "data"
    if not folder.is_dir():
        pytest.skip("no real recordings: ../shared/data is not there")
    return folder
