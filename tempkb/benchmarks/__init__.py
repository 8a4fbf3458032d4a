"""The four questions: benchmarks built from the tables of the other rooms, frozen as releases."""
