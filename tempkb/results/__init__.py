"""What the scores mean: aggregates of stored scores, as views. Nothing here runs a model."""
