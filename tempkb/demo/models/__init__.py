"""Tiny language models, trained on what a home's articles said at given cuts; see the README."""
