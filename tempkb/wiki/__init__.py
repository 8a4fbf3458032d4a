"""From dumps to what stood in a wiki at each cut: files, texts, mentions, and facts with their dates."""
