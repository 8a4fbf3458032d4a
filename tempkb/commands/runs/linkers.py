"""Runs that train linkers, add them, and link the mentions of releases; one that fails does not stop the others."""

from collections.abc import Sequence

from tempkb.benchmarks.register import entry_of, read_entry, releases_of
from tempkb.benchmarks.tempel import design
from tempkb.benchmarks.tempel.benchmark import TEMPEL
from tempkb.commands.runs.jobs import Summary, past_damage, run_each
from tempkb.commands.runs.results import bring_results
from tempkb.core.errors import SettingsError
from tempkb.core.options import Words
from tempkb.models.devices import usable_device
from tempkb.models.linking.known import known_linkers, require_linker
from tempkb.models.linking.requests import LinkRequest, default_name, linker_request
from tempkb.models.linking.scoring import due_linkers
from tempkb.models.linking.tables import ENTITY_VECTORS, LINKERS, LINKING_SCORES, NIL_THRESHOLDS
from tempkb.models.linking.training.lessons import LEARNING
from tempkb.models.training.teaching import school
from tempkb.platform.api import open_store


def train(
    release: str, cuts: Sequence[str], seeds: Sequence[int], name: str, words: Words
) -> tuple[list[str], Summary]:
    """Train a linker for each snapshot and seed, each in a run of its own.

    Args:
        cuts: snapshots, as typed; empty for all of the release.
        seeds: of the trainings; empty for the first.
        name: of the linker if it is one; empty for names of release, snapshot and seed.
        words: further words of each request; see `tempkb.models.linking.requests`.

    Returns:
        the names of the linkers; and what happened.

    Raises:
        SettingsError: there is no such release or snapshot, a word is not allowed, or one name is for several.
    """
    store = open_store()
    snapshots = [str(cut) for cut in design.read_entry(read_entry(store.home, TEMPEL.name, release)).cuts]
    if odd := [cut for cut in cuts if cut not in snapshots]:
        raise SettingsError(
            f"--cut {odd[0]}: the release {release} has no such snapshot; expected one of {', '.join(snapshots)}"
        )
    asked = [
        {**words, "release": release, "cut": cut, "seed": str(seed)}
        for cut in dict.fromkeys(cuts or snapshots)
        for seed in dict.fromkeys(seeds or (1,))
    ]
    if name and len(asked) > 1:
        raise SettingsError(f"--name {name}: {len(asked)} linkers are to be trained; name one snapshot and one seed")
    wanted = {name or _default_name(one): one for one in asked}
    for own, one in wanted.items():
        linker_request(own, one)
    usable_device("linker train", words.get("device") or "cpu")
    with school(LEARNING):
        return list(wanted), past_damage(lambda: run_each([LINKERS], wanted))


def add(name: str, words: Words) -> Summary:
    """Add an encoder that is used as it is.

    Raises:
        SettingsError: the name or a word is not allowed.
    """
    linker_request(name, words)
    return past_damage(lambda: run_each([LINKERS], {name: words}))


def score(asked: Sequence[str], words: Words, *, is_all: bool) -> tuple[list[str], Summary]:
    """Link the mentions of releases with linkers, each in a run of its own; bring results up to date.

    Args:
        words: which mentions, among which candidates; see `tempkb.models.linking.requests`.

    Returns:
        the names of the linkers that were asked for; and what happened.

    Raises:
        SettingsError: no linker is asked for, there is no such linker, a word is not allowed, or no release is built.
    """
    store, request = open_store(), LinkRequest.of(words)
    if bool(asked) == is_all:
        raise SettingsError("linker score: expected names of linkers, or --all for all linkers of the home")
    names = [row["linker"] for row in known_linkers(store.lake)] if is_all else list(dict.fromkeys(asked))
    for name in names:
        require_linker(store.lake, name)
    usable_device(request.command, request.device or "cpu")
    # Before anything is written: without a release a run would end well, having linked nothing.
    if not any(entry_of(store.home, release).built for release in releases_of(store.home, TEMPEL.name)):
        raise SettingsError(
            f"linker score: found no release of TempEL that is built in {store.home.path}; expected one, whose "
            "mentions are linked; make one, such as: tempkb release tempel 2022-01-01,2023-01-01 --preset small"
        )

    def work() -> Summary:
        # Asked here, so that neither Dagster nor an encoder is imported if nothing is to be made.
        due = due_linkers(store, names, request)
        summary = run_each([ENTITY_VECTORS, LINKING_SCORES, NIL_THRESHOLDS], dict.fromkeys(due, words))
        if current := [name for name in names if name not in due]:
            summary.notes.append(f"nothing to link for {', '.join(current)}: all that was asked for is up to date")
        return bring_results(summary, LINKERS, LINKING_SCORES)

    return names, past_damage(work)


def _default_name(words: Words) -> str:
    request = linker_request("unnamed", words)
    return default_name(words["release"], request.cut, request.seed, request.preset)  # type: ignore[union-attr]
