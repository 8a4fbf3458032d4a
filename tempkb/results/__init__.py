"""What scores mean: statistics, views, and the one answer to what a model knows. Nothing here runs a model."""
