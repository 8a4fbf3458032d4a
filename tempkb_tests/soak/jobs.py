"""The jobs that are killed: what each is given, and what is typed."""

import shutil
from dataclasses import dataclass, field
from pathlib import Path

from tempkb_tests.soak import homes
from tempkb_tests.soak.commands import Commands

FIRST_WINDOW, SECOND_YEAR = "2021-10-01", "2022-01-01"
_PAGES = ("--pages", "250", "--quarters", "8")
_FACTS = ("2022-01-01..2022-07-01", "--granularity", "quarter", "--set", "max_subjects=20")
TEMPEL = ("release", "tempel", "2022-01-01,2022-07-01", "--preset", "small", "--set", "nr_ct_ents_per_cut=3",
          "--name", "t")  # fmt: skip


@dataclass(frozen=True)
class Job:
    """A command that is killed.

    Attributes:
        name: for people.
        given: the prepared home that it begins with.
        typed: arguments of `tempkb`, typed again after the kill.
        variables: of the environment.
        ends: statuses with which it may end when it is typed again; 1 where it finds that all is done.
    """

    name: str
    given: str
    typed: tuple[str, ...]
    variables: dict[str, str] = field(default_factory=dict)
    ends: tuple[int, ...] = (0,)


def jobs(slot: Path) -> list[Job]:
    """All jobs; `slot` is the folder that holds the home and what lies beside it."""
    second = sorted(str(path) for path in (slot / "second" / "dumps" / "demowiki").glob("*/*history*.bz2"))
    return [
        Job("build", "dumps", ("build",)),
        Job("build a window", "gap", ("build",)),
        Job("rebuild", "built", ("build", "--rebuild", "--windows", "2022-07-01..2023-01-01", "--dump", *second)),
        Job("wikidata", "pages", ("build",)),
        Job("release tempel", "built", TEMPEL),
        Job("release templama", "built", ("release", "templama", *_FACTS, "--name", "y")),
        Job("release dynamic-templama", "built", ("release", "dynamic-templama", *_FACTS, "--name", "q")),
        Job("release ecbd", "built", ("release", "ecbd", "2021-10-01..2023-01-01", "--preset", "small", "--popular",
                                      "3", "--name", "e")),
        Job("release extend", "released", ("release", "extend", "t", "2022-10-01")),
        Job("release balance", "extended", ("release", "balance", "t")),
        Job("rm release", "released", ("rm", "--release", "t", "--yes"), ends=(0, 1)),
        Job("rm window", "released", ("rm", "--window", "2022-07-01..2023-01-01", "--yes"), ends=(0, 1)),
        Job("rm dump", "built", ("rm", "--dump", "demowiki-20230101", "--yes", "--force"), ends=(0, 1)),
        Job("fetch", "built", ("fetch", "--no-wikidata"), {"TEMPKB_MIRROR": str(slot / "second" / "dumps")}),
        Job("publish", "unpublished", ("publish",)),
        Job("gc", "rebuilt", ("gc",)),
    ]  # fmt: skip


class Prepared:
    """Homes to begin with, made when first asked for.

    Args:
        commands: that make them.
        slot: folder beside the home where they are kept.
    """

    def __init__(self, commands: Commands, slot: Path) -> None:
        self._commands, self._slot, self._home = commands, slot, commands.home

    def put(self, name: str) -> None:
        """Put a copy of a prepared home into the place of the home."""
        kept = self._slot / name
        if not kept.exists():
            getattr(self, f"_make_{name}")()
            shutil.rmtree(kept, ignore_errors=True)
            homes.copy(self._home, kept)
        homes.copy(kept, self._home)

    def _make_dumps(self) -> None:
        """The dumps of the demo world, whose windows begin late, so that there are few; and those of a quarter later."""
        second = self._slot / "second"
        settings = (self._home / "tempkb.toml").read_text("utf-8")
        self._type("demo", *_PAGES, "--second")
        shutil.rmtree(second, ignore_errors=True)
        self._home.rename(second)
        self._home.mkdir()
        (self._home / "tempkb.toml").write_text(settings, "utf-8")
        self._type("demo", *_PAGES)

    def _make_built(self) -> None:
        self.put("pages")
        self._type("build")

    def _make_pages(self) -> None:
        """Built without Wikidata, whose dump has come since."""
        self.put("dumps")
        wikidata = self._home / "dumps" / "wikidatawiki"
        aside = self._slot / "wikidata"
        shutil.rmtree(aside, ignore_errors=True)
        shutil.copytree(wikidata, aside)
        shutil.rmtree(wikidata)
        self._type("build")
        shutil.copytree(aside, wikidata)

    def _make_gap(self) -> None:
        self.put("built")
        self._type("rm", "--window", "2022-07-01..2023-01-01", "--yes")
        self._type("gc")

    def _make_released(self) -> None:
        self.put("built")
        self._type(*TEMPEL)

    def _make_extended(self) -> None:
        self.put("released")
        self._type("release", "extend", "t", "2022-10-01")

    def _make_rebuilt(self) -> None:
        self.put("built")
        self._type(*next(job for job in jobs(self._slot) if job.name == "rebuild").typed)

    def _make_unpublished(self) -> None:
        self.put("released")
        for path in self._home.glob("tempkb.duckdb*"):
            path.unlink()

    def _type(self, *arguments: str) -> None:
        ended = self._commands.run(*arguments)
        if ended.code:
            raise RuntimeError(f"tempkb {' '.join(arguments)}: {ended.said}")
