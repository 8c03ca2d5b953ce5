"""Faults of the disk at every call that changes it, in front of every verb: what is told, and what is left."""
