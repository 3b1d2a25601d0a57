"""What the tests on the whole stack share: the DAG and the window of history that they learn from."""

from datetime import UTC, datetime, timedelta

DAG = "train_rapl-sysfs_BPFOnly"
# Six hours of yesterday, between two midnights and inside the window of one nightly run (02:00 to 02:00).
START = (datetime.now(UTC) - timedelta(days=2)).replace(hour=4, minute=0, second=0, microsecond=0)
WINDOW = {"start": f"{START:%Y-%m-%dT%H:%M:%SZ}", "end": f"{START + timedelta(hours=6):%Y-%m-%dT%H:%M:%SZ}"}
