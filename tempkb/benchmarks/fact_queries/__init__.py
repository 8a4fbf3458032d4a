"""The parts that the two benchmarks of facts share: relations, subjects, spells, splits, queries."""
