"""Dated text: the wiki's sentences by the window in which each is first seen, and texts of a user's own."""
