"""Kills at every edge: each command is killed, typed again, and its home compared with one that was left in peace."""
