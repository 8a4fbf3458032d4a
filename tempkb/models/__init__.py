"""What language models give for prompts: checkpoints, and scorers that turn prompts into log-probabilities."""
