"""The platform: all rooms together, Dagster's definitions, automation, and what is due."""
