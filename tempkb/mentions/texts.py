"""Which quarters of texts a cut needs, and the refusal where they are not complete."""

from collections.abc import Iterable
from datetime import date

from tempkb.errors import ContractError
from tempkb.mentions.tables import PAGE_LINKS, PAGE_TEXTS
from tempkb.revisions.losses import lacking_quarters
from tempkb.revisions.tables import STABLE_SNAPSHOTS
from tempkb.store.store import Store
from tempkb.store.tables import Table


def holds_winners(store: Store, quarter: str, cut: date) -> bool:
    """Return whether revisions of a quarter, named by its first day, can win at a cut.

    By TempEL's rule a revision that was saved on the day of the cut can win too.
    """
    first = date.fromisoformat(quarter)
    return first < cut or (first == cut and store.home.settings.stability_rule == "tempel")


def quarters_of(store: Store, cut: date, table: Table = PAGE_TEXTS) -> list[str]:
    """Return the quarters that are built, or lost, whose revisions can win at a cut."""
    return [quarter for quarter in store.lake.keys(table.name) if holds_winners(store, quarter, cut)]


def require_all_texts(store: Store, cuts: Iterable[date]) -> None:
    """Refuse cuts with texts that were lost to damage, because the remaining texts would be taken for all of them.

    Raises:
        ContractError: a quarter with texts of a cut is lost; the message names the first one.
    """
    lost = {quarter for table in (PAGE_TEXTS, PAGE_LINKS) for quarter in store.lake.lost(table.name)}
    lost |= lacking_quarters(store, store.lake.versions(STABLE_SNAPSHOTS.name))
    for cut in cuts:
        if quarters := sorted(quarter for quarter in lost if holds_winners(store, quarter, cut)):
            raise ContractError(
                f"{PAGE_TEXTS.name} {quarters[0]}: lost to damage; expected it to be complete, since it has texts of "
                f"articles at snapshot {cut}; build it again: tempkb build"
            )
