"""The home and the tiny models of the tests of scores."""

from tempkb_tests.models.scores.conftest import add, built, saved, store  # noqa: F401 - fixtures of this package
