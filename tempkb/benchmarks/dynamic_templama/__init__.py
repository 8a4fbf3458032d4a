"""DynamicTempLAMA: queries about facts by quarter, month, week or year, and their changes (Margatina et al., 2023)."""
