"""The steps of the room: tables of a dump's files and pages, which are written once for each registered dump."""

from tempkb.engine.steps import Source, Standing
from tempkb.engine.tasks import Task
from tempkb.wiki.dumps.tables import DUMP_FILES, NAMESPACES, PAGES

_FILES = Source(DUMP_FILES)
TASKS = (
    Task(
        "dump_files",
        (Standing((DUMP_FILES,)),),
        "wiki.dumps.making.dump_files",
        how="A dump that is not in the home is fetched from the mirror. Its files are verified against the publisher's "
        "checksums.",
        is_skippable=True,
    ),
    Task(
        "pages",
        (Standing((PAGES,), (_FILES,)),),
        "wiki.dumps.making.pages",
        how="From the SQL tables `page`, `page_props` and `redirect`. If a dump has no table `page`, the pass that "
        "builds its windows writes this table from the page headers in the XML. Without `page_props` the items come "
        "from Wikidata's site links when windows are built, or when a Wikidata dump is read later.",
        is_skippable=True,
    ),
    Task("namespaces", (Standing((NAMESPACES,), (_FILES,)),), "wiki.dumps.making.namespaces", is_skippable=True),
)
STEPS = tuple(step for task in TASKS for step in task.steps)
