"""Long trials of whole homes, killed, damaged or begun at once: run by `make soak`, in small by the tests."""
