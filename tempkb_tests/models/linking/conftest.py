"""Tiny models are fastest on one thread."""

from tempkb_tests.models.conftest import one_thread  # noqa: F401 - a fixture of this package, too
