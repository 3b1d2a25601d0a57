"""Fuzzing: broken and hostile input of every kind, given to what reads it, in children with limits.

A case is refused in one sentence or accepted; anything else is a failure. `make fuzz` is the long run.
"""
