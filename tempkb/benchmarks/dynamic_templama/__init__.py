"""DynamicTempLAMA: facts by quarter, month, week or year, and what changed between them."""
