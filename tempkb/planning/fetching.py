"""What `tempkb fetch` does: bring the dumps that are worth having and are not here. Knows nothing of Dagster."""

from collections.abc import Callable
from dataclasses import dataclass

from tempkb.api import open_store
from tempkb.dumps.fetching import fetch_offer, mirror_of
from tempkb.engine import progress
from tempkb.errors import SettingsError, SourceError
from tempkb.planning.due import look_out
from tempkb.settings import load_home


@dataclass(frozen=True)
class Fetched:
    """What a fetch has done.

    Attributes:
        dumps: ids of those that were brought.
        here: ids of those that missing windows or a reading wait for, and that lay here before.
        untaken: a line for each newer dump that was not taken, which and why.
    """

    dumps: list[str]
    here: list[str]
    untaken: list[str]


def fetch(tell: Callable[[str], None], *, only_windows: bool = False) -> Fetched:
    """Bring the dumps by which missing windows could be built, and Wikidata's, from the mirror.

    Raises:
        SettingsError: no mirror is set.
        SourceError: the mirror shows nothing of the wiki, or a dump cannot be had; what has come stays for a later
            try.
    """
    home = load_home()
    mirror = mirror_of(home, tell)
    if mirror is None:
        raise SettingsError(
            "mirror: none is set, so there is nowhere to fetch from; set one: TEMPKB_MIRROR=https://dumps.wikimedia.org"
        )
    outlook = look_out(open_store(), wikidata=not only_windows, tell=tell)
    # Of a wiki that is mistyped not even Wikidata is fetched.
    if outlook.nothing:
        raise SourceError(outlook.nothing)
    here = [due.dump.dump_id for due in outlook.due if due.offer is None]
    fetched = Fetched([], here, outlook.passed)
    with progress.on_terminal():
        for due in outlook.due:
            if due.offer is not None:
                fetch_offer(home, mirror, due.offer, tell)
                fetched.dumps.append(due.dump.dump_id)
    return fetched
