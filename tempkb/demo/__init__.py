"""The demo world: a small, consistent, invented wiki in Wikimedia's real formats, made from a seed."""
