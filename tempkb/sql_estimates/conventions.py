"""What the estimates in Python and in SQL agree on. Imports nothing, so that commands that only read start fast."""

LEVEL = 0.95
"""Of all intervals."""
MIN_CLUSTERS = 10
"""With fewer clusters there is no interval, only a sentence: the standard error itself is too uncertain."""
EDGE = 10
"""With fewer successes or failures than this, counted in effective items, a proportion gets Wilson's interval."""
ROUNDING = 1e-12
"""A standard error below this part of the values is what rounding leaves of zero."""
