"""Long trials of whole homes: run by `make soak`, in small by the tests."""
