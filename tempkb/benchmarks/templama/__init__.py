"""TempLAMA: which fact held in which year."""
