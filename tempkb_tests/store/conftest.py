import pytest

from tempkb.core.locks import Patience
from tempkb.core.settings import load_home
from tempkb.store.store import Store
from tempkb_tests.store.tables_for_tests import TOWNS


@pytest.fixture
def store(home_folder):
    """A store of the test's home with the table of towns; waits a second for locks."""
    return Store(load_home().claim("testwiki"), [TOWNS], Patience(1.0))
