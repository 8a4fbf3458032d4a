"""The benchmarks, built from the tables of the other rooms as frozen releases."""
