"""Runs: Dagster's jobs in this process, for what a command asks. See README.md."""
