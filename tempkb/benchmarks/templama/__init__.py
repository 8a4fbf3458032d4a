"""TempLAMA: queries about facts by year (Dhingra et al., 2022)."""
