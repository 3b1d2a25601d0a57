"""Removing idle power: what is left is what containers caused."""
