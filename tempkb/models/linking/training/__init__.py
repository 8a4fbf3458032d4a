"""Trains linkers: recipes, examples, and the process that learns from them with sentence-transformers."""
