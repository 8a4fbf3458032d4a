"""TempEL: can a linker resolve mentions of entities that are new, or have changed? (Zaporojets et al., 2022)."""
