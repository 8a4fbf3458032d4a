"""Cleans the text of every winning revision, and resolves its links at each cut."""
