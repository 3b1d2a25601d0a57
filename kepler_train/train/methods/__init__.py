"""Methods of fitting that several trainers share."""
