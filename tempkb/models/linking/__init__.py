"""Entity linking through time: linkers, vectors of entities, retrieval, and its scores."""
