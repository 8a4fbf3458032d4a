"""Accounting of a pass: every `<revision>` tag in the bytes has become a row, or is counted with a reason."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from tempkb.dumps.catalogue import Dump, day_in, horizon_day
from tempkb.dumps.registration import describe_files
from tempkb.revisions.reading import Receipt
from tempkb.revisions.tables import REVISION_LOG
from tempkb.store.drafts import Exclusion
from tempkb.windows import Window, window_of


@dataclass(frozen=True)
class ElementCounts:
    """Numbers of `<revision>` elements of a dump's files, by what became of them.

    Attributes:
        elements: start tags counted in the bytes, without parsing.
        outside: revisions in none of the windows to build.
        duplicates: repeats of a revision.
        lost: revisions in damaged pages or parts of files.
        not_chosen: revisions of pages that the home does not hold.
    """

    elements: int
    logged: int
    outside: int
    duplicates: int
    lost: int
    not_chosen: int = 0

    @property
    def agree(self) -> bool:
        """Is every element accounted for?"""
        return self.elements == self.logged + self.outside + self.duplicates + self.lost + self.not_chosen


def count_elements(receipts: Sequence[Receipt], logged: int, *, all_written: bool) -> ElementCounts:
    """Add up the counts of the workers and the rows that were written.

    Args:
        all_written: was the log of every window to build written? If not, the windows
            without a log hold none of their revisions.
    """
    outside = sum(receipt.outside for receipt in receipts)
    if not all_written:
        outside = sum(receipt.kept for receipt in receipts) - logged
    return ElementCounts(
        elements=sum(receipt.elements.total() for receipt in receipts),
        logged=logged,
        outside=outside,
        duplicates=sum(receipt.duplicates for receipt in receipts),
        lost=sum(one.lost_revisions for receipt in receipts for many in receipt.damages.values() for one in many),
        not_chosen=sum(receipt.not_chosen for receipt in receipts),
    )


def damages_in_words(receipts: Sequence[Receipt]) -> dict[str, str]:
    """Return for each damaged file where and how it is damaged, and what is lost, in words."""
    return {
        name: "; ".join(
            (f"byte {one.position} ({one.of}): " if one.position >= 0 else "")
            + f"{one.reason}, {one.lost_revisions} revisions lost"
            for one in many
        )
        for receipt in receipts
        for name, many in receipt.damages.items()
    }


def after_in_words(dump: Dump, receipts: Sequence[Receipt], last: Window, today: date) -> str:
    """Say how many revisions lie in no window, since they follow the last one, and what helps; empty if none does."""
    after = sum(receipt.after for receipt in receipts)
    if not after:
        return ""
    kept, cut = sum(receipt.kept for receipt in receipts), window_of(last.end, last.granularity).cut
    said = f"{after:,} of {kept:,} revisions of {dump.dump_id} {'lies' if after == 1 else 'lie'} in no window: "
    undated = next((file.path.name for file in dump.history if day_in(file.path.name) is None), "")
    # A dump from the future serves no window, so such a day would not help.
    if dump.date is not None or not undated or cut > today:
        return f"{said}the next one ends on {cut}. A dump of that day or later has what belongs to it"
    return (
        f"{said}the next one ends on {cut}, and without a day in its name a dump reaches only to its last revision, "
        f"here of {horizon_day(dump)}. If it was made on {cut} or later, say so in the file's name, and build again: "
        f"{dump.wiki}-{cut:%Y%m%d}-{undated}"
    )


def describe_read_files(dump: Dump, receipts: Sequence[Receipt], damages: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the rows of `dump_files` with what the pass found."""
    rows = describe_files(dump)
    for row in rows:
        name = row["file_name"]
        seen = [receipt for receipt in receipts if name in receipt.elements]
        if seen:
            row["n_pages"] = sum(receipt.pages[name] for receipt in seen)
            row["n_revision_elements"] = sum(receipt.elements[name] for receipt in seen)
        if name in damages:
            row["status"], row["reason"] = "damaged", damages[name]
    return rows


def exclusions_of(counts: ElementCounts, logged_before: int, damages: Mapping[str, str]) -> list[Exclusion]:
    """Return what is missing from the log, by reason.

    Args:
        logged_before: rows of the same dump in windows that were built earlier.
        damages: by file, one of which is the example.
    """
    example = next((f"{name}: {where}" for name, where in damages.items()), "")
    log = REVISION_LOG.name
    return [
        Exclusion("outside_windows", counts.outside - logged_before, "saved in no window built from this dump", log),
        Exclusion("duplicate_revision", counts.duplicates, "came twice; the newer file's counts", log),
        Exclusion("damaged", counts.lost, example, log),
        Exclusion("not_chosen", counts.not_chosen, "the page is not in the part of the wiki that the home holds", log),
    ]
