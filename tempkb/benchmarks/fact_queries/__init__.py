"""What the two benchmarks of facts in time share: relations, subjects, spells, splits, queries."""
