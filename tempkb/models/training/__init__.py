"""Trains: one loop for linkers and for language models that are told the time, in processes of their own."""
