"""A model and rows in, watts out."""
