"""What language models say in the gap of a question: decoders beside the scorers; see the README of models."""
