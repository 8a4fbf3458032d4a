"""ECBD: what models infer about entities that came into the world at a known time."""
