"""Reads Wikidata's entities and writes facts with dates, origins and classes."""
