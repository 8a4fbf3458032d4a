"""The jobs that are killed: what each is given, what is typed, and its nastiest edge."""

import shutil
from dataclasses import dataclass, field
from pathlib import Path

from tempkb_tests.models.tiny import KINDS, random_model, tokenizer_of
from tempkb_tests.soak import homes
from tempkb_tests.soak.commands import Commands
from tempkb_tests.store.ageing import let_a_day_go_by

# The last three windows of a world of eight quarters, so that there are as few as an extension can do with.
FIRST_WINDOW = "2022-04-01"
_PAGES = ("--pages", "250", "--quarters", "8")
_FACTS = ("2022-04-01..2023-01-01", "--granularity", "quarter", "--set", "max_subjects=20")
_TEMPEL = ("--preset", "small", "--set", "nr_ct_ents_per_cut=3", "--name", "t")
_LAST_WINDOW = "2022-10-01..2023-01-01"


@dataclass(frozen=True)
class Job:
    """A command that is killed.

    Attributes:
        name: for people.
        given: the home that it begins with.
        typed: arguments of `tempkb`, typed again after the kill.
        edge: label of the change before which a kill is nastiest.
        leaves: name under which its end is kept, for others to begin with; empty if none does.
        variables: of the environment.
        ends: statuses with which it may end when it is typed again; 1 where it finds that all is done.
    """

    name: str
    given: str
    typed: tuple[str, ...]
    edge: str
    leaves: str = ""
    variables: dict[str, str] = field(default_factory=dict)
    ends: tuple[int, ...] = (0,)


def jobs(slot: Path, server: str) -> list[Job]:
    """All jobs.

    Args:
        slot: the folder that holds the home and what lies beside it.
        server: address under which the second home's dumps are served.
    """
    second = sorted(str(path) for path in (slot / "second" / "dumps" / "demowiki").glob("*/*history*.bz2"))
    rebuild = ("build", "--rebuild", "--windows", _LAST_WINDOW, "--dump", *second)
    mirror = {"TEMPKB_MIRROR": str(slot / "second" / "dumps")}
    facts = ("release", "templama", *_FACTS, "--name", "y")
    dynamic = ("release", "dynamic-templama", *_FACTS, "--name", "q")
    ecbd = ("release", "ecbd", "2021-10-01..2023-01-01", "--preset", "small", "--popular", "3", "--name", "e")
    served = {"TEMPKB_MIRROR": server, "TEMPKB_CONTACT": "soak@example.org", "TEMPKB_WIKI": "demowiki"}
    gone = (0, 1)
    return [
        Job("build", "dumps", ("build",), "tempkb.duckdb", "read"),
        Job("wikidata", "pages", ("build",), "rename lake/late_edits/", "built"),
        Job("build a window", "gap", ("build",), "rename lake/mentions/"),
        Job("rebuild", "built", rebuild, "rename lake/rebuild_changes/", "rebuilt"),
        Job(
            "release tempel",
            "built",
            ("release", "tempel", "2022-07-01,2022-10-01", *_TEMPEL),
            "rename lake/tempel_statistics/",
            "released",
        ),
        Job("release templama", "built", facts, "rename lake/templama_prompts/"),
        Job("release dynamic-templama", "built", dynamic, "rename lake/dynamic_templama_changes/", "asked"),
        Job("score", "known", ("score", "tiny"), "rename lake/prompt_scores/", "scored"),
        Job("results", "scored", ("results",), "rename lake/linking_sums/"),
        Job("release ecbd", "built", ecbd, "rename lake/ecbd_prompts/"),
        Job(
            "release extend",
            "released",
            ("release", "extend", "t", "2023-01-01"),
            "rename lake/tempel_mentions/",
            "extended",
        ),
        Job("release balance", "extended", ("release", "balance", "t"), "rename lake/tempel_entities/"),
        Job("rm release", "released", ("rm", "--release", "t", "--yes"), "remove releases/t.json", ends=gone),
        Job("rm model", "scored", ("rm", "--model", "tiny", "--yes"), "remove lake/prompt_scores/", ends=gone),
        Job("rm window", "released", ("rm", "--window", _LAST_WINDOW, "--yes"), "remove lake/mentions/", ends=gone),
        Job("rm dump", "built", ("rm", "--dump", "demowiki-20230101", "--yes", "--force"), "rename dumps/", ends=gone),
        Job("fetch", "built", ("fetch", "--no-wikidata"), "rename dumps/demowiki/", variables=mirror),
        Job("fetch from a server", "built", ("fetch", "--no-wikidata"), "rename dumps/demowiki/", variables=served),
        Job("publish", "unpublished", ("publish",), "tempkb.duckdb"),
        Job("gc", "rebuilt", ("gc",), "rename lake/"),
    ]


# One of each kind: what `make slow` kills. Extensions, fetches and `publish` are killed by tests of their rooms.
TESTED = (
    "build",
    "wikidata",
    "rebuild",
    "release tempel",
    "release dynamic-templama",
    "score",
    "results",
    "rm release",
    "gc",
)


class Homes:
    """Homes to begin with; those that no job leaves are made here, when first asked for.

    Args:
        commands: that make them.
        slot: folder beside the home where they are kept.
    """

    def __init__(self, commands: Commands, slot: Path) -> None:
        self._commands, self._slot, self._home = commands, slot, commands.home

    def put(self, name: str) -> None:
        """Put a copy of a kept home into the place of the home."""
        if not self.has(name):
            getattr(self, f"_make_{name}")()
            self.keep(name)
        homes.copy(self._slot / name, self._home)
        # What was replaced long ago is what `gc` deletes.
        let_a_day_go_by(self._home / "lake")

    def has(self, name: str) -> bool:
        """Is a home kept?"""
        return (self._slot / name).exists()

    def keep(self, name: str) -> None:
        """Keep a copy of the home as it is now."""
        homes.copy(self._home, self._slot / name)

    def _make_dumps(self) -> None:
        """The demo world's dump of a wiki; beside it those of a quarter later, and Wikidata's."""
        settings = (self._home / "tempkb.toml").read_text("utf-8")
        self._type("demo", *_PAGES, "--second")
        shutil.rmtree(self._slot / "second", ignore_errors=True)
        self._home.rename(self._slot / "second")
        self._home.mkdir()
        (self._home / "tempkb.toml").write_text(settings, "utf-8")
        self._type("demo", *_PAGES)
        shutil.rmtree(self._slot / "wikidata", ignore_errors=True)
        (self._home / "dumps" / "wikidatawiki").rename(self._slot / "wikidata")

    def _make_pages(self) -> None:
        """Wikidata's dump has come since the windows were built."""
        self.put("read")
        shutil.copytree(self._slot / "wikidata", self._home / "dumps" / "wikidatawiki")

    def _make_gap(self) -> None:
        self.put("built")
        self._type("rm", "--window", _LAST_WINDOW, "--yes")
        self._type("gc")

    def _make_known(self) -> None:
        """A release of facts, and a model that was not asked about them yet."""
        self.put("asked")
        checkpoint = self._slot / "checkpoint"
        for part in (random_model(KINDS["t5"], tokenizer_of("t5")), tokenizer_of("t5")):
            part.save_pretrained(checkpoint)
        self._type("model", "add", "tiny", str(checkpoint))

    def _make_unpublished(self) -> None:
        self.put("released")
        for path in self._home.glob("tempkb.duckdb*"):
            path.unlink()

    def _type(self, *arguments: str) -> None:
        ended = self._commands.run(*arguments)
        if ended.code:
            raise RuntimeError(f"tempkb {' '.join(arguments)}: {ended.said}")
