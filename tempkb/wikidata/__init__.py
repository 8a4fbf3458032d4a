"""What was true when: Wikidata's entities, times and facts."""
