"""Trainers, one file each, and the honest ways to judge them."""
