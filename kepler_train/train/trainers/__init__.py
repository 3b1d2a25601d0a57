"""One file per trainer."""
