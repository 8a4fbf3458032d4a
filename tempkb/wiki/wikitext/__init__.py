"""Reads a revision's wikitext. Pure: text in, facts out."""
