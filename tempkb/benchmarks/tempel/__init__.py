"""TempEL: mentions of new and of continual entities at snapshots of a wiki (Zaporojets et al., 2022)."""
