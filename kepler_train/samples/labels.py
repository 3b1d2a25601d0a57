"""Labels of series: names that many modules share."""

from __future__ import annotations

from collections.abc import Mapping

Labels = Mapping[str, str]
METRIC_NAME = "__name__"
INSTANCE = "instance"
"""The label of the scraped target, as host:port."""
LABEL_COLUMN = "label."
"""The prefix of columns of a samples file that hold a label."""
