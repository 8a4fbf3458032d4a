"""Results: from stored scores to figures with intervals; no model is run here."""
