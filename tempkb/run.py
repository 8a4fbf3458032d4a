"""Plans that the command line runs: which jobs over which partitions, in order, headless.

Runs are ordinary Dagster runs, in this process, kept in the home's own Dagster
storage, so that the web UI shows them afterwards.
"""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tempkb.dumps.catalogue import (
    Dump,
    find_dumps,
    name_dump,
    remember,
)
from tempkb.dumps.entities import holds_entities, name_entities
from tempkb.dumps.fetching import fetch_offer, mirror_of
from tempkb.dumps.retention import remove_dump
from tempkb.dumps.tables import DUMP_FILES, NAMESPACES, PAGES
from tempkb.engine import progress
from tempkb.errors import SettingsError, SourceError, StoredDamageError
from tempkb.failures import innermost
from tempkb.instance import COMMAND_TAG, COMMANDS, dagster_at
from tempkb.mentions.building import WRITERS
from tempkb.mentions.tables import PAGE_LINKS, PAGE_TEXTS
from tempkb.refresh import look_out, stale_windows, stretches
from tempkb.removal import of_dump, remove
from tempkb.revisions.origins import setting_of
from tempkb.revisions.sitelinks import unlinked_windows
from tempkb.revisions.tables import REVISION_LOG, STABLE_SNAPSHOTS
from tempkb.selection import OF_DUMPS, OF_ENTITIES, OF_HISTORY, Request, dumps_for, windows_of, windows_to_read
from tempkb.settings import Home, at_home, load_home
from tempkb.store.damage import Mended
from tempkb.store.database import set_aside_in_words as database_in_words
from tempkb.store.locks import alive_mark
from tempkb.store.store import Store
from tempkb.store.tables import Family
from tempkb.store.visible import visible
from tempkb.windows import parse_day
from tempkb.wording import counted

# What a build may make; all else is made by commands of its own.
_BUILT = (Family.DUMP, Family.ENTITIES, Family.WINDOW)


@dataclass
class Summary:
    """What a build did, for the closing screen.

    Attributes:
        windows: keys that were asked for.
        failures: what went wrong, in words; empty when all is well.
        notes: what a person should know all the same: damage, windows that were kept, what a rebuild changed.
        run_ids: Dagster's runs, in order.
        entity_dumps: dumps of Wikidata's entities that this build was about.
    """

    windows: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    run_ids: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    entity_dumps: list[str] = field(default_factory=list)


def build(request: Request) -> Summary:
    """Build what is asked for, in the order of the data; what is found damaged is set aside and built again.

    Raises:
        SettingsError: an asset, window or setting is unknown or does not fit.
        SourceError: there is no dump to build from.
    """
    return past_damage(lambda: _build(request))


def past_damage(work: Callable[[], Summary]) -> Summary:
    """Set damaged partitions of the home aside and do some work; do it again where reading has found more damage.

    The summary names what was set aside, or, if the work raises, standard error does. What this run has written is
    whole, so that the rounds end.
    """
    found: list[Mended] = []
    try:
        return _rounds(work, found)
    except BaseException:
        for line in set_aside_in_words(found):
            _say(line)
        raise


def _rounds(work: Callable[[], Summary], found: list[Mended]) -> Summary:
    from tempkb.api import open_store

    before = open_store().database.set_aside_files()
    found += _set_aside_damaged()
    while True:
        summary, error = Summary(), None
        try:
            summary = work()
        except StoredDamageError as met:
            # Met while it was worked out what there is to do.
            error = met
        more = _set_aside_damaged()
        found += more
        if more and (error or summary.failures):
            continue
        if error:
            raise error
        aside = [one for one in open_store().database.set_aside_files() if one not in before]
        summary.notes[:0] = [*set_aside_in_words(found), *map(database_in_words, aside)]
        return summary


def _set_aside_damaged() -> list[Mended]:
    from tempkb.api import open_store

    store = open_store()
    mended = store.set_aside_damaged()
    if mended:
        # At once, or the views would name files that have moved until something is built.
        store.publish()
    return mended


def set_aside_in_words(mended: Sequence[Mended]) -> list[str]:
    """Say what was set aside or put right, a line for each fault."""
    return [str(one) for one in mended]


def _build(request: Request) -> Summary:
    from tempkb.api import open_store

    home = load_home()
    of_entities = [path for path in request.dump_files if holds_entities(path)]
    of_history = tuple(path for path in request.dump_files if path not in of_entities)
    # What can be refused is refused before a named dump decides what the home is of.
    entities, selected = _entity_dumps(home, request, of_entities), _select(request.select)
    named = _name(home, of_history)
    wiki = named.wiki if named else home.wiki
    dumps = [dump for dump in find_dumps(home.dumps) if wiki in (None, dump.wiki) and dump.holds_pages]
    store = open_store()
    windows = (
        windows_of(store, request, named, dumps) if named or _asks_for_windows(request, store, dumps, entities) else []
    )
    if named:
        home = home.claim(named.wiki)
        remember(home.dumps, named)
        dumps = [dump for dump in find_dumps(home.dumps) if dump.wiki == home.wiki and dump.holds_pages]
        store = open_store()
    told = [dump.dump_id for dump in entities] if selected & OF_ENTITIES else []
    summary = Summary([window.key for window in windows], entity_dumps=told)
    with dagster_at(home) as instance:
        from tempkb.automation import DUMPS_JOB, WINDOWS_JOB

        of_windows = {name for name in selected if store.tables[name].family is Family.WINDOW}
        unread = windows_to_read(store, replace(request, dump_files=of_history), windows, of_windows)
        used = dumps_for(unread, named, dumps) if of_windows else [one for one in dumps if not one.flaws]
        new = [dump for dump in used if dump.is_named and not _is_known(store, dump)]
        for dump in used:
            run_job(instance, DUMPS_JOB, [dump.dump_id], {}, [], summary)
        if summary.failures:
            _forget(instance, new)
            return summary
        config = {"dump_id": named.dump_id if named else "", "rebuild": request.rebuild}
        for stretch in stretches(unread):
            asked = {"ops": {"revisions": {"config": config}}}
            run_job(instance, WINDOWS_JOB, [one.key for one in stretch], asked, sorted(of_windows), summary)
        derived = sorted(of_windows - OF_HISTORY)
        for stretch in stretches([one for one in windows if one not in unread]) if derived else ():
            run_job(instance, WINDOWS_JOB, [one.key for one in stretch], {}, derived, summary)
        is_history_bad = bool(summary.failures)
        if of_entities:
            _read_named(instance, entities[0], selected, summary)
        else:
            _read_wikidata(instance, entities, selected, summary)
        _link_items(instance, selected, summary)
        if is_history_bad:
            _forget(instance, new)
    return summary


def _asks_for_windows(request: Request, store: Store, dumps: Sequence[Dump], entities: Sequence[Dump]) -> bool:
    """Is a request about windows as well, or about Wikidata alone?

    It is about Wikidata alone where that is here and no dump in the home's folder serves windows by itself: those that
    were named serve what they were named for.
    """
    of_windows = set(request.select) - OF_ENTITIES - OF_DUMPS
    is_asked = bool(request.windows or of_windows) or request.all_windows or request.rebuild
    is_served = any(dump.history and not dump.is_named for dump in dumps)
    return is_asked or is_served or not entities or bool(stale_windows(store))


def _is_known(store: Store, dump: Dump) -> bool:
    return store.lake.current(DUMP_FILES.name, dump.dump_id) is not None


def _forget(instance: Any, dumps: Sequence[Dump]) -> None:
    """Forget named files that were new to the home and of which nothing was built, so that good ones may come."""
    from tempkb.api import open_store
    from tempkb.automation import DUMPS_JOB

    store = open_store()
    windows = [*store.lake.versions(REVISION_LOG.name), *store.lake.versions(STABLE_SNAPSHOTS.name)]
    used = {setting_of(version, "dump_id") for version in windows}
    for dump in dumps:
        if dump.dump_id in used:
            continue
        # Dagster forgets first, since without files and tables nothing would tell later that it still has to.
        forget_partition(instance, DUMPS_JOB, dump.dump_id)
        for table in (DUMP_FILES, PAGES, NAMESPACES):
            store.lake.remove(table.name, dump.dump_id)
        remove_dump(store.home.dumps, dump)
    store.publish()


def _entity_dumps(home: Home, request: Request, files: Sequence[Path]) -> list[Dump]:
    """Dumps of Wikidata's entities that this build is about, oldest first; named files go before what lies there."""
    if files:
        dump = name_entities(files, parse_day(request.day) if request.day else None)
        sums = {file.sha256 for file in dump.entities}
        for other in find_dumps(home.dumps):
            is_same_id = other.dump_id == dump.dump_id and not other.is_named
            if is_same_id and other.entities and {file.sha256 for file in other.entities} != sums:
                raise SettingsError(
                    f"--dump: the files are of {dump.dump_id}, and {home.dumps} holds other files of that dump; "
                    "leave out --dump to use those, or take another home for these"
                )
        return [dump]
    if request.day:
        raise SettingsError("--day: tells the day of files of Wikidata's entities; name them with --dump")
    if request.dump_files:
        return []
    there = (one for one in find_dumps(home.dumps) if one.entities and not one.flaws)
    return sorted(there, key=lambda one: (one.horizon, one.dump_id))


def _read_wikidata(instance: Any, dumps: Sequence[Dump], selected: set[str], summary: Summary) -> None:
    """Read each dump of entities that does not stand as it is."""
    from tempkb.api import open_store
    from tempkb.automation import DUMPS_JOB, WIKIDATA_JOB
    from tempkb.wikidata.building import is_current

    for dump in dumps:
        if selected & OF_DUMPS and not selected & OF_ENTITIES:
            run_job(instance, DUMPS_JOB, [dump.dump_id], {}, [], summary)
        elif selected & OF_ENTITIES and not is_current(open_store(), dump):
            run_job(instance, DUMPS_JOB, [dump.dump_id], {}, ["dump_files"], summary)
            run_job(instance, WIKIDATA_JOB, [dump.dump_id], {}, [], summary)


def _read_named(instance: Any, dump: Dump, selected: set[str], summary: Summary) -> None:
    """Read a dump of entities that was just named; what was read of its files under another day is withdrawn.

    If it cannot be read, nothing of it is remembered, and what was read before stays.
    """
    from tempkb.api import open_store
    from tempkb.wikidata.building import is_current

    root = load_home().dumps
    others = [one for one in find_dumps(root) if one.is_named and one.entities]
    before = next((one for one in others if one.dump_id == dump.dump_id), None)
    described = open_store().lake.current(DUMP_FILES.name, dump.dump_id)
    is_in_folder = any(one.dump_id == dump.dump_id and not one.is_named for one in find_dumps(root))
    remember(root, dump)
    _read_wikidata(instance, [dump], selected, summary)
    if not selected & OF_ENTITIES:
        return
    if is_current(open_store(), dump):
        same = {file.sha256 for file in dump.entities}
        for other in others:
            if (
                other.dump_id != dump.dump_id
                and {file.sha256 for file in other.entities if file.path.is_file()} == same
            ):
                _withdraw(instance, other)
                summary.notes.append(f"{other.dump_id}, the same files as of {other.date}, was withdrawn")
    elif before is not None:
        remember(root, before)
        if described is not None:
            store = open_store()
            store.lake.restore(described)
            store.publish()
    elif is_in_folder:
        remove_dump(root, dump)
    else:
        _withdraw(instance, dump)


def _withdraw(instance: Any, dump: Dump) -> None:
    """Take a named dump of entities, and what was read of it, out of the home; its files stay."""
    from tempkb.api import open_store
    from tempkb.automation import WIKIDATA_JOB
    from tempkb.wikidata.late import dump_dates, write_late_edits

    store = open_store()
    forget_partition(instance, WIKIDATA_JOB, dump.dump_id)
    remove(store, of_dump(store, dump.dump_id, force=True))
    # To those after it, it may have been the first that reached a window.
    for other, day in dump_dates(store.lake).items():
        if dump.date and day > dump.date:
            write_late_edits(store, other, day)
    store.publish()


def _link_items(instance: Any, selected: set[str], summary: Summary) -> None:
    """Give windows that stand the Wikidata items that are known by now, and build anew what follows from them."""
    from tempkb.api import open_store
    from tempkb.automation import ONLY_ITEMS, WINDOWS_JOB

    if STABLE_SNAPSHOTS.name not in selected:
        return
    unlinked = unlinked_windows(open_store())
    for stretch in stretches(unlinked):
        run_job(instance, WINDOWS_JOB, [one.key for one in stretch], ONLY_ITEMS, [STABLE_SNAPSHOTS.name], summary)
    following = sorted(selected & {PAGE_TEXTS.name, PAGE_LINKS.name, *WRITERS})
    left = unlinked_windows(open_store()) if unlinked else []
    linked = [window for window in unlinked if window not in left]
    if linked:
        summary.notes.append(
            f"{counted(len(linked), 'window')} that {'stands was' if len(linked) == 1 else 'stand were'} given the "
            "Wikidata items that are known by now; nothing else of them has changed, and no dump was read for it"
        )
    stale = [one for one in stale_windows(open_store()) if one in linked] if linked and following else []
    for stretch in stretches(stale):
        run_job(instance, WINDOWS_JOB, [one.key for one in stretch], {}, following, summary)


@dataclass(frozen=True)
class Fetched:
    """What a fetch has done.

    Attributes:
        dumps: ids of those that were brought.
        here: ids of those that missing windows or a reading wait for, and that lay here before.
        passed: a line for each newer dump that was not taken, which and why.
    """

    dumps: list[str]
    here: list[str]
    passed: list[str]


def fetch(*, only_windows: bool = False) -> Fetched:
    """Bring the dumps by which missing windows could be built, and Wikidata's, from the mirror.

    Args:
        only_windows: leave Wikidata out.

    Raises:
        SettingsError: no mirror is set.
        SourceError: the mirror shows nothing of the wiki, or a dump cannot be had; what has come stays for a later
            try.
    """
    from tempkb.api import open_store

    home = load_home()
    mirror = mirror_of(home, _say)
    if mirror is None:
        raise SettingsError(
            "mirror: none is set, so there is nowhere to fetch from; set one: TEMPKB_MIRROR=https://dumps.wikimedia.org"
        )
    outlook = look_out(open_store(), wikidata=not only_windows, tell=_say)
    # Of a wiki that is mistyped not even Wikidata is fetched.
    if outlook.nothing:
        raise SourceError(outlook.nothing)
    here = [due.dump.dump_id for due in outlook.due if due.offer is None]
    fetched = Fetched([], here, outlook.passed)
    with progress.on_terminal():
        for due in outlook.due:
            if due.offer is not None:
                fetch_offer(home, mirror, due.offer, _say)
                fetched.dumps.append(due.dump.dump_id)
    return fetched


def forget_partitions(home: Home, family: str, keys: Sequence[str]) -> None:
    """Let Dagster forget partitions of dumps or releases that are about to be removed."""
    with dagster_at(home) as instance:
        for key in keys:
            instance.delete_dynamic_partition(family, key)


def _say(line: str) -> None:
    sys.stderr.write(visible(at_home(line)) + "\n")


def serve_ui(port: int) -> None:
    """Replace this process by Dagster's web server and daemon, on localhost only.

    None of the processes imports anything from the working directory, where a `duckdb.py` of somebody else may lie:
    Python itself is told by `PYTHONSAFEPATH`, and Dagster, which puts the folder of a module first for its import, by
    `-d`, the folder from which tempkb was imported here.
    """
    with dagster_at(load_home()):
        # Opened once, so that the storage is whole and no run of a killed command is shown as going on.
        pass
    os.environ["PYTHONSAFEPATH"] = "1"
    program = Path(sys.executable).with_name("dagster")
    module = ["-m", "tempkb.definitions", "-d", str(Path(__file__).parents[1])]
    arguments = ["dagster", "dev", *module, "-h", "127.0.0.1", "-p", str(port)]
    os.execv(program, arguments)  # noqa: S606 - our own interpreter's sibling, no shell


def _name(home: Home, files: Sequence[Path]) -> Dump | None:
    """The dump of the files that were named; nothing is written yet."""
    if not files:
        return None
    dump = name_dump(files, home.chosen_wiki)
    for other in find_dumps(home.dumps):
        if other.dump_id == dump.dump_id and not other.is_named and not set(dump.history) <= set(other.history):
            raise SettingsError(
                f"--dump: the files are of {dump.dump_id}, and {home.dumps} holds other files of that dump; "
                "leave out --dump to use those, or take another home for these"
            )
    home.refuse_other(dump.wiki)
    return dump


def _select(names: Sequence[str]) -> set[str]:
    """The tables that are asked for by name; of none, all that a build may make."""
    from tempkb.rooms import TABLES

    families = {table.name: table.family for table in TABLES}
    for name in names:
        if name not in families:
            raise SettingsError(f"--select {name}: no such asset; known: {', '.join(sorted(families))}")
        if families[name] not in _BUILT:
            raise SettingsError(
                f"--select {name}: belongs to a {families[name].value}, not to a window; make one: "
                f"tempkb {families[name].value} --help"
            )
    return set(names) or {name for name, family in families.items() if family in _BUILT}


def run_job(
    instance: Any, job_name: str, keys: Sequence[str], config: dict[str, Any], selection: list[str], summary: Summary
) -> None:
    """Run a job over a partition, or a range of windows, in this process; the summary is told what became of it.

    Args:
        instance: of Dagster.
        job_name: which job.
        keys: one partition, or the windows of a range.
        config: of the run.
        selection: assets; empty for all of the job's.
        summary: is filled.
    """
    import dagster as dg

    from tempkb.automation import WINDOWS_JOB
    from tempkb.definitions import defs

    home, tags = load_home(), {}
    if job_name != WINDOWS_JOB:
        instance.add_dynamic_partitions(_partition_set(job_name), list(keys))
    else:
        tags = {"dagster/asset_partition_range_start": keys[0], "dagster/asset_partition_range_end": keys[-1]}
    quiet = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
    with progress.on_terminal(), alive_mark(home.dagster / COMMANDS) as mark:
        result = defs.resolve_job_def(job_name).execute_in_process(
            instance=instance,
            run_config={**config, **quiet},
            asset_selection=[dg.AssetKey(name) for name in selection] or None,
            raise_on_error=False,
            partition_key=None if job_name == WINDOWS_JOB else keys[0],
            tags={**tags, COMMAND_TAG: mark},
        )
    summary.run_ids.append(result.run_id)
    summary.failures += list(_failures(result))
    summary.notes += list(dict.fromkeys(_notes(result)))


def forget_partition(instance: Any, job_name: str, key: str) -> None:
    """Take a key out of the set of partitions that a job runs over, in Dagster alone."""
    instance.delete_dynamic_partition(_partition_set(job_name), key)


def _partition_set(job_name: str) -> str:
    """Name of the set of partitions that come as they appear over which a job runs."""
    import dagster as dg

    from tempkb.definitions import defs

    partitions = defs.resolve_job_def(job_name).partitions_def
    if not isinstance(partitions, dg.DynamicPartitionsDefinition):
        raise TypeError(f"job {job_name}: runs over {partitions}; expected partitions that come as they appear")
    return str(partitions.name)


def _failures(result: Any) -> Iterator[str]:
    for event in result.all_events:
        if event.is_step_failure:
            failed = event.step_failure_data
            said = innermost(failed.error)
            # A step that says itself what failed has a line for each thing; other errors are one thing each.
            yield from said.split("\n") if failed.user_failure_data is not None else [said]
    for evaluation in result.get_asset_check_evaluations():
        # A warning is for people to know, and no failure.
        if not evaluation.passed and evaluation.severity.value == "ERROR":
            name = f"{evaluation.asset_key.to_user_string()}.{evaluation.check_name}"
            told = ", ".join(f"{key}: {value.value}" for key, value in evaluation.metadata.items())
            yield f"check {name} failed ({told})"


def _notes(result: Any) -> Iterator[str]:
    """What the run's materialisations say that a person should know."""
    for event in result.all_events:
        if not event.is_step_materialization:
            continue
        told = event.step_materialization_data.materialization
        facts = {key: value.value for key, value in told.metadata.items()}
        kept = "entity" if told.asset_key.to_user_string() == "facts" else "page"
        if "warning" in facts:
            yield str(facts["warning"])
        for name, where in (facts.get("damaged_files") or {}).items():
            yield f"{name} is damaged: {where}. Every whole {kept} was kept."
        if told.asset_key.to_user_string() != "stable_snapshots":
            continue
        if "kept" in facts:
            yield f"window {told.partition} stays as it is: {facts['kept']}"
        changes = {key.removeprefix("rebuild/"): n for key, n in facts.items() if key.startswith("rebuild/")}
        if any(changes.values()):
            said = ", ".join(f"{n} {what}" for what, n in changes.items())
            yield f"window {told.partition} was rebuilt; pages by what changed: {said} (table rebuild_changes)"
