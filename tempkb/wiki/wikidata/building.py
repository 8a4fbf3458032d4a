"""Builds the room's tables from a Wikidata dump: one pass, then sorting. Does not use Dagster."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from functools import partial

import pyarrow as pa

from tempkb.core.errors import SettingsError, SourceError
from tempkb.core.filtering import LeftOut
from tempkb.core.settings import Home
from tempkb.core.titles import Site
from tempkb.engine.progress import Meter
from tempkb.store.drafts import Exclusion, Provenance
from tempkb.store.memory import spilling_to
from tempkb.store.store import Store
from tempkb.store.tables import Table
from tempkb.store.versions import Version
from tempkb.wiki.dumps.catalogue import Dump, find_dumps
from tempkb.wiki.dumps.files import Progress
from tempkb.wiki.dumps.looking import look_at
from tempkb.wiki.dumps.offers import HISTORY
from tempkb.wiki.dumps.pages import describe_files
from tempkb.wiki.dumps.tables import DUMP_FILES
from tempkb.wiki.wikidata.classes import Staging, write_classes, write_subclasses
from tempkb.wiki.wikidata.decoding import is_item
from tempkb.wiki.wikidata.reading import Tally, read_entities
from tempkb.wiki.wikidata.rows import SUBCLASS_OF, Rows, add_entity
from tempkb.wiki.wikidata.scope import ANY_LANGUAGE, Scope, scope_of, settings_of
from tempkb.wiki.wikidata.steps import bring_late_edits
from tempkb.wiki.wikidata.tables import (
    ENTITY_CLASSES,
    ENTITY_ORIGINS,
    FACTS,
    LATE_EDITS,
    SUBCLASSES,
    UNDATED_STATEMENTS,
    WIKIDATA_ENTITIES,
)
from tempkb.wiki.wikitext.page_kinds import label_language

Log = Callable[[str], None]
_REPORT_EVERY = 1 << 9
_DOUBTFUL_DAYS = 90
_EXAMPLES = 3
_BLOCK_BYTES = 1 << 16
# The tables that one pass stages; the others are made from them.
OF_A_PASS: tuple[tuple[str, Table], ...] = (
    ("entities", WIKIDATA_ENTITIES),
    ("facts", FACTS),
    ("undated", UNDATED_STATEMENTS),
    ("origins", ENTITY_ORIGINS),
)


@dataclass
class Report:
    """The result of reading a dump.

    Attributes:
        n_repeated: items that occurred again; the first occurrence is used.
        named_in: languages in which items have names: those that are kept, and English.
        warning: what is suspicious about the dump's day; empty if nothing is.
    """

    versions: dict[str, Version] = field(default_factory=dict)
    tallies: dict[str, Tally] = field(default_factory=dict)
    n_repeated: int = 0
    named_in: set[str] = field(default_factory=set)
    warning: str = ""

    @property
    def n_entities(self) -> int:
        """Number of items that were kept."""
        return self.versions[WIKIDATA_ENTITIES.name].rows


def read_dump(store: Store, dump: Dump, log: Log) -> Report:
    """Read a Wikidata dump and write all tables of the room for it.

    Raises:
        SettingsError: the home's wiki is not known, its tables of Wikidata were made with other settings, or no item
            has a name in the wiki's language.
        SourceError: the dump has no entities, its checksum differs from the publisher's, the given day is before its
            last change, or, with `strict`, it is damaged.
    """
    if not dump.entities or dump.date is None:
        raise SourceError(f"dump {dump.dump_id!r}: has no entities of Wikidata; expected wikidata-*-all.json.gz")
    scope = scope_of(store.home)
    for file in dump.entities:
        file.verify()
    store.claim(scope.wiki)
    _defend_settings(store)
    store.home = _in_own_language(store.home)
    scope = scope_of(store.home)
    constants = {"wiki": scope.wiki, "dump_id": dump.dump_id, "dump_date": dump.date}
    files = {file.path.name: file.sha256 for file in dump.entities}
    provenance = Provenance(files, settings_of(store.home), day=str(dump.date))
    report = Report()
    with store.lake.staging() as folder:
        staging = Staging(folder)
        rows = Rows()
        _pass(dump, scope, staging, rows, report, log)
        if store.home.settings.strict:
            _refuse_damage(report)
        report.warning = _doubt_of_day(dump, report)
        _refuse_nameless(store, scope, report)
        _keep_settings(store)
        # Written first, so that the damage is on record even if the run is killed after this.
        _account(store, dump, report, provenance)
        with spilling_to(folder) as connection:
            for name, table in OF_A_PASS:
                rows.left_out.merge(staging.repeated(connection, name, table))
            for name, table in OF_A_PASS:
                left_out = _exclusions(rows, report) if table is FACTS else ()
                sorted_rows = staging.sorted_rows(connection, name, table, constants)
                report.versions[table.name] = store.write(table, dump.dump_id, sorted_rows, provenance, left_out)
            for table, write in ((ENTITY_CLASSES, write_classes), (SUBCLASSES, write_subclasses)):
                version = write(store, dump.dump_id, staging, connection, constants, provenance)
                report.versions[table.name] = version
    # This dump may be the first one that reaches a window's end, so that `late_edits` of later dumps are stale by now.
    late = bring_late_edits(store, log)
    report.versions[LATE_EDITS.name] = late.versions[LATE_EDITS.name, dump.dump_id]
    return report


def _defend_settings(store: Store) -> None:
    """Take the settings that the existing tables were made with into a home that has not recorded them."""
    for version in store.lake.versions(WIKIDATA_ENTITIES.name):
        if version.was_made_with(settings_of(store.home)):
            return
        used = version.settings
        languages = tuple(one for one in used["languages"] if one != ANY_LANGUAGE)
        store.home = store.home.hold(
            {"languages": languages, "wikidata_items": used["wikidata_items"], "classes": tuple(used["classes"])}
        )
        return


def _in_own_language(home: Home) -> Home:
    """Return a home that keeps names in the wiki's language unless others were chosen."""
    if home.settings.languages:
        return home
    found = (one for one in find_dumps(home.dumps) if one.wiki == home.wiki and not one.flaws)
    paths = (file.path for one in found for file in one.history if file.path.is_file())
    header = next((look_at(path, HISTORY) for path in paths), None)
    own = label_language(Site(home.wiki, language=header.language if header else ""))
    return replace(home, settings=home.settings.changed(languages=(own,)))


def _refuse_nameless(store: Store, scope: Scope, report: Report) -> None:
    """Refuse languages without names before a home's first tables are written, since it keeps its languages."""
    is_new = not store.lake.partitions(WIKIDATA_ENTITIES.name)
    if is_new and report.named_in == {"en"} and "en" not in scope.languages:
        raise SettingsError(
            f"languages: no item has a name in {scope.languages[0]!r}, in which the home would keep the names of "
            f"{scope.wiki}, though some have English ones. It keeps its languages for good, so choose others, by "
            "Wikidata's codes: TEMPKB_LANGUAGES=en tempkb build ..."
        )


def _keep_settings(store: Store) -> None:
    """Record in the home the settings with which all of its Wikidata dumps are read."""
    settings = store.home.settings
    store.home = store.home.hold(
        {
            "languages": settings.languages,
            "wikidata_items": settings.wikidata_items,
            "classes": settings.classes,
        }
    )


def _pass(dump: Dump, scope: Scope, staging: Staging, rows: Rows, report: Report, log: Log) -> None:
    seen = _Seen()
    # A line without the wiki's name is decoded only if it has edges of the class tree.
    wanted = [] if scope.all_items else [f'"{scope.wiki}":'.encode(), f'"{SUBCLASS_OF}":'.encode()]
    total = sum(file.path.stat().st_size for file in dump.entities)
    with Meter(f"reading {dump.dump_id}", total, log) as meter:
        before = 0
        for file in dump.entities:
            progress, tally = Progress(), Tally()
            report.tallies[file.path.name] = tally
            languages = tuple(dict.fromkeys((*scope.languages, "en")))
            entities = read_entities(file.path, languages, wanted, tally, progress)
            for number, entity in enumerate(entities):
                if not number % _REPORT_EVERY:
                    meter.at(before + progress.done)
                report.named_in.update(entity.labels)
                if seen.again(entity.id):
                    report.n_repeated += 1
                    continue
                add_entity(rows, entity, scope)
                staging.take(rows)
            before += file.path.stat().st_size
            if tally.reason:
                log(f"{file.path.name} is damaged: {tally.reason}. Every complete entity that could be read was kept.")
    staging.take(rows, everything=True)
    staging.close()


class _Seen:
    """The items that were read already, one bit per item number.

    The bits are in blocks, each made with its first item, so that a damaged number far from all others takes one block.
    """

    def __init__(self) -> None:
        self._blocks: defaultdict[int, bytearray] = defaultdict(partial(bytearray, _BLOCK_BYTES))

    def again(self, entity_id: str) -> bool:
        """Return whether an item was read before, and mark it as read."""
        if not is_item(entity_id):
            return False
        place, bit = divmod(int(entity_id[1:]), 8)
        number, at = divmod(place, _BLOCK_BYTES)
        block = self._blocks[number]
        before = block[at]
        block[at] = before | 1 << bit
        return bool(before >> bit & 1)


def _exclusions(rows: Rows, report: Report) -> list[Exclusion]:
    """Counts of what was read but not kept, by reason."""
    left_out = LeftOut()
    for name, tally in report.tallies.items():
        damaged = "; ".join(f"{name}, line {line}: {why}" for line, why in tally.damaged)
        merged = ", ".join(f"{old} is {new}" for old, new in list(tally.redirects.items())[:_EXAMPLES])
        left_out.add("has no page in the wiki, not decoded", name, tally.passed_over)
        left_out.add("damaged line", damaged, tally.n_damaged)
        left_out.add("is said to be missing", ", ".join(tally.missing[:_EXAMPLES]), len(tally.missing))
        left_out.add("was asked for under the number of a merged item", merged, len(tally.redirects))
    left_out.add("item that came a second time", "the first counts", report.n_repeated)
    return [Exclusion(*row) for counted in (rows.left_out, left_out) for row in counted.rows()]


def _refuse_damage(report: Report) -> None:
    for name, tally in report.tallies.items():
        damage = tally.damage or "; ".join(f"line {line}: {why}" for line, why in tally.damaged)
        if damage:
            raise SourceError(
                f"{name}: damaged ({damage}); expected an intact file, since strict is set. Fetch the file again, or "
                "build without strict to keep the complete entities."
            )


def _doubt_of_day(dump: Dump, report: Report) -> str:
    """Return what is suspicious about a day that a user gave with `--day`; empty if nothing is.

    Files with a day in their name are not checked, because they contain changes of the days during which they were
    written. Only decoded entities are compared: those with a page in the wiki or with edges of the class tree.

    Raises:
        SourceError: the file contains a change after that day.
    """
    changed = _day_in(max((tally.modified for tally in report.tallies.values()), default=""))
    if not dump.is_day_given or dump.date is None or changed is None:
        return ""
    names = ", ".join(file.path.name for file in dump.entities)
    if dump.date < changed:
        after = changed + timedelta(days=1)
        # A day in the future is refused, so the message must not recommend it.
        advice = f"--day {after}" if after <= datetime.now(UTC).date() else "leave out --day"
        raise SourceError(
            f"--day {dump.date}: {names} contains a change of {changed}; expected a day after it, "
            f"since a dump contains nothing of its own day and what follows: {advice}"
        )
    if dump.date > changed + timedelta(days=_DOUBTFUL_DAYS):
        return (
            f"--day {dump.date}: the last change in {names} is of {changed}, {(dump.date - changed).days} days before. "
            "If the file is older than the given day, open statements count for too long: name the file again with its "
            "own day"
        )
    return ""


def _day_in(instant: str) -> date | None:
    try:
        return date.fromisoformat(instant[:10])
    except ValueError:
        return None


def _account(store: Store, dump: Dump, report: Report, provenance: Provenance) -> None:
    """Write to `dump_files` what the pass found in each file."""
    rows = describe_files(dump)
    for row in rows:
        tally = report.tallies.get(row["file_name"])
        if tally is None:
            continue
        row["n_pages"] = tally.lines
        if tally.reason:
            row["status"], row["reason"] = "damaged", tally.reason
    files = pa.Table.from_pylist(rows, DUMP_FILES.schema)
    report.versions[DUMP_FILES.name] = store.write(DUMP_FILES, dump.dump_id, [files], provenance)
