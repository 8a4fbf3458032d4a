"""What language models say: their answers to questions, and what these are worth."""
