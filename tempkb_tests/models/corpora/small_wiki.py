"""A wiki of a few pages, written by hand, over three quarters, and the sentences that are new in each."""

from datetime import date

from tempkb.engine.tasks import Order
from tempkb.models.corpora.steps import TASKS
from tempkb.models.corpora.tables import DATED_TEXTS, HOME
from tempkb.platform.api import open_store
from tempkb.platform.rooms import steps
from tempkb.wiki.dumps.catalogue import name_dump
from tempkb.wiki.dumps.pages import write_namespaces
from tempkb_tests.wiki.mentions.windows_for_tests import clean
from tempkb_tests.wiki.revisions.builds import build_files, export, page, revision

Q1, Q2, Q3 = "2020-01-01", "2020-04-01", "2020-07-01"
PAGES = (
    page(
        1,
        revision(
            11,
            "2020-01-05T00:00:00Z",
            "Ada Lovelace sailed to [[Two|the old port]]. The port is grey.\n\nShips come on 12 March 2020.",
        ),
        # One sentence moved, one is new, one is gone.
        revision(
            12,
            "2020-04-05T00:00:00Z",
            "Ships come on 12 March 2020.\n\nAda Lovelace sailed to [[Two|the old port]]. The port burned in May 2020.",
        ),
        # One comes back, one is new and has the end of another.
        revision(
            13,
            "2020-07-05T00:00:00Z",
            "The port is grey. Ada Lovelace sailed to [[Two|the old port]]. The port burned in May 2020. It is grey.",
        ),
        title="One",
    ),
    page(
        2,
        revision(21, "2020-01-06T00:00:00Z", "They wrote: Rain falls here."),
        # Part of a longer sentence before.
        revision(22, "2020-04-06T00:00:00Z", "Rain falls here. New words stand here.\n* Rain in a list."),
        title="Two",
    ),
    page(3, revision(31, "2020-04-07T00:00:00Z", "The port burned in May 2020."), title="Three"),
    page(
        4,
        revision(41, "2020-01-07T00:00:00Z", "#REDIRECT [[Two]]"),
        revision(42, "2020-07-07T00:00:00Z", "The port is grey."),
        title="Four",
    ),
    page(5, revision(51, "2020-01-08T00:00:00Z", "Is it grey?"), title="Talk:One", ns=1),
    page(6, revision(61, "2020-01-08T00:00:00Z", "Six may be two things.\n__DISAMBIG__"), title="Six"),
    page(7, revision(71, "2020-01-09T00:00:00Z", "Bells ring. Bells ring."), title="Seven"),
)
NEW = {
    Q1: {
        (1, "Ada Lovelace sailed to the old port."),
        (1, "The port is grey."),
        (1, "Ships come on 12 March 2020."),
        (2, "They wrote: Rain falls here."),
        (7, "Bells ring."),
    },
    Q2: {(1, "The port burned in May 2020."), (2, "New words stand here.")},
    # What page 4 says is new there, whatever others said before.
    Q3: {(1, "It is grey."), (4, "The port is grey.")},
}
LEFT_OUT = {
    (f"home.{Q1}", "seen before in the window", 1, "Bells ring."),
    (f"home.{Q2}", "seen before in the window", 1, "The port burned in May 2020."),
}


def small_wiki(folder, monkeypatch, until=date(2020, 10, 1)):
    """Build the wiki in the home that the environment names, up to a day; return its store."""
    for name, value in {"GRANULARITY": "quarter", "FIRST_WINDOW": Q1, "NAMESPACES": "all", "WORKERS": "1"}.items():
        monkeypatch.setenv(f"TEMPKB_{name}", value)
    file = folder / "history.xml"
    file.write_bytes(export(*PAGES))
    store, report, _ = build_files(file, until=until)
    assert not report.bad
    write_namespaces(store, name_dump([file], None))
    clean(store)
    return open_store()


def make(store, name=HOME, **words):
    """Make a corpus as a command does; return what was done."""
    (task,) = TASKS
    return task.run(Order(store, (name,), lambda _line: None, words, frozenset({DATED_TEXTS.name})), steps())


def held(store):
    """The version of each partition."""
    return {one.partition: one.version for one in store.lake.versions(DATED_TEXTS.name)}
