"""The demo world: a small, consistent, invented wiki in Wikimedia's real formats, made from a seed.

The world knows the truth, so tests take their expectations from it. Nothing but the command line and tests may import
it; `models` does not.
"""
