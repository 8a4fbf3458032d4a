"""Scores: what language models give for the prompts of releases; kept for good."""
