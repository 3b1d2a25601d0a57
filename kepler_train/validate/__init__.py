"""A verdict on what was collected."""
