"""What linkers need of a benchmark: mentions, the entities among which they are linked, and texts of both."""
