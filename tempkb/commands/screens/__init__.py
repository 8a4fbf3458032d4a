"""Prints what the commands report: summaries, tables, states and timelines."""
