"""Runs a function over many items, in processes here or on several machines; names failures and shows progress."""
