"""ECBD: cloze sentences about entities by their date of origin (Onoe et al., 2022)."""
