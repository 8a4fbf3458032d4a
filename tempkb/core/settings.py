"""Settings and homes: what a user may set, and what defines a home.

Settings come from `TEMPKB_*` variables, then from `tempkb.toml` in the home. A
home is made once: at the first write its wiki, granularity, first window, namespaces,
lookback, stability rule and pages are written to `home.toml`, and later runs with other
values are refused. The first pass over Wikidata adds which items, names and classes are kept.
"""

import os
import re
import shlex
import shutil
import sys
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta

from tempkb.core.errors import SettingsError
from tempkb.core.model_words import model_lines
from tempkb.core.options import (
    Form,
    InOrder,
    NotNegative,
    Words,
    as_word,
    in_order,
    nearest,
    option,
    options_of,
    read_all,
)
from tempkb.core.record import (
    IDENTITY,
    OF_WIKIDATA,
    SALT,
    add_to_record,
    copy_record,
    damaged_record,
    read_record,
    toml,
    write_record,
)
from tempkb.core.windows import Granularity, window_of

DEFAULT_HOME = Path("data/demo")
_OTHER_VARIABLES = {"TEMPKB_HOME", "TEMPKB_REAL_DATA", "TEMPKB_REAL_ENCODER"}
# How the names of files in a home begin; drafts, locks and DuckDB's log have the rest of a name for their own.
_OWN_FILES = ("home.toml", "tempkb.toml", "tempkb.duckdb", "dagster.lock")
# DuckDB reads * and ? as patterns (and ? in the name of a database as the start of options), \ as /, and a folder
# `a=b` as a column of the files below it. A `[` can be quoted: store/quoting.py.
_UNREADABLE = re.compile(r"[*?\\=\x00-\x1f\x7f]")
_WIKI = r"[a-z][a-z0-9_]*"
_SET_IT = ". Set it as a TEMPKB_ variable or in tempkb.toml of the home."
# A command in a message: the text before it, variables with values in the shell's quoting, and our name.
_TYPED = re.compile(
    r"""(?:(?<=: )|(?<=; )|(?<=&& ))(?:TEMPKB_[A-Z_]+=(?:'[^']*'|"[^"]*"|[^\s'"])+ )*tempkb (?=[a-z])"""
)


def is_wiki_name(name: str) -> bool:
    """Can a home hold a wiki with this database name? It becomes part of names of files and partitions."""
    return re.fullmatch(_WIKI, name) is not None


def _headings(found: Iterable[str]) -> tuple[str, ...]:
    return in_order(one.lower() for one in found)


@dataclass(frozen=True)
class Settings:
    """All settings; each is `TEMPKB_<NAME>` or a line of `tempkb.toml`.

    Attributes:
        chosen: names of those that a user set.
    """

    wiki: Annotated[str, Meta(pattern=rf"^{_WIKI}\Z")] | None = option(
        None,
        "The wiki that the home holds.",
        allowed="a database name, such as simplewiki",
        default_in_words="from the dump",
    )
    namespaces: Literal["all"] | InOrder[int] = option(
        (0,),
        "The namespaces whose pages are in the snapshots.",
        allowed="namespace numbers, such as 0 or 0,1, or the word all",
    )
    granularity: Granularity = option(Granularity.QUARTER, "How long a window is.")
    first_window: date = option(date(2001, 1, 1), "The day on which the first window begins.")
    lookback_days: Annotated[int, Meta(ge=1, le=3660)] = option(
        30, "How many days before the cut are compared to find the most stable text."
    )
    stability_rule: Literal["standing", "tempel"] = option(
        "standing",
        "How the text of a page is chosen at a cut: `standing` is our rule, `tempel` is that of TempEL's released "
        "code.",
    )
    dropped_sections: Literal["standard"] | Annotated[tuple[str, ...], _headings] = option(
        "standard",
        "Sections that are left out of the readable texts, by their headings, such as references,see also; `standard` "
        "means references, literature, external links and the like.",
    )
    pages: Annotated[str, Meta(pattern=r"^(all|1/[1-9]\d*|list-[0-9a-f]{16})\Z")] = option(
        "all",
        "The pages that the home holds; `--sample` and `--pages` of `tempkb build` set it.",
        allowed="all, or 1/100 for a page in a hundred; a list of pages by `tempkb build --pages FILE` only",
    )
    languages: tuple[Annotated[str, Meta(pattern=r"^[a-z]{2,}(-[a-z0-9]+)*\Z")], ...] = option(
        (),
        "The languages of names and aliases that are kept from Wikidata.",
        allowed="codes of languages, such as en,de; empty for the wiki's own",
        default_in_words="the wiki's",
    )
    wikidata_items: Literal["linked", "all"] = option(
        "linked", "The items that are kept from Wikidata: those with a page in the wiki, or all."
    )
    classes: tuple[Annotated[str, Meta(pattern=r"^Q[1-9]\d*\Z")], ...] = option(
        ("Q5", "Q4167410", "Q13406463", "Q4167836"),
        "The classes that `entity_classes` lists for the items below them; the default is humans, disambiguation "
        "pages, lists and categories.",
        allowed="items of classes, such as Q5,Q4167410",
    )
    engine: Literal["local", "ray"] = option(
        "local", "Where files are read and cleaned: on this machine, or on [several machines with Ray](scaling.md)."
    )
    ray_address: Annotated[str, Meta(pattern=r"^(auto|(ray://)?[^\s/:]+:\d+)?\Z")] = option(
        "",
        "The address of the Ray cluster.",
        allowed="auto, host:port or ray://host:port; empty starts Ray on this machine",
        default_in_words="this machine",
    )
    workers: Annotated[int, Meta(ge=1, le=1024)] = option(
        os.cpu_count() or 1,
        "How many processes read files, on all machines together.",
        default_in_words="all cores",
    )
    mirror: str = option(
        "",
        "Where new dumps are looked for: a folder, or an address such as https://dumps.wikimedia.org.",
        default_in_words="the home's own folder",
    )
    contact: str = option(
        "", "Your e-mail address or web page, sent to servers of dumps with every request, as Wikimedia asks."
    )
    bandwidth: Annotated[float, Meta(ge=0)] = option(
        0.0,
        "The largest rate of all downloads together, in megabytes per second; 0 for no limit.",
        default_in_words="no limit",
    )
    keep_dumps: NotNegative = option(
        0,
        "How many dumps of the wiki, and how many of Wikidata, the automation keeps, 0 for all; commands remove none.",
        default_in_words="all",
    )
    wikidata_days: Annotated[int, Meta(ge=0, le=36600)] = option(
        90,
        "How many days newer a Wikidata dump must be than the last one that was read; 0 if no newer one is to be read.",
    )
    automation: bool = option(False, "Whether sensors and the schedule are switched on as soon as the daemon runs.")
    failure_hook: str = option(
        "", "A program that is started for each failed run or command, with the failure as JSON on its standard input."
    )
    duckdb_max_rows: NotNegative = option(
        1_000_000, "Tables with more rows are views over the lake in the DuckDB file."
    )
    models: Annotated[
        tuple[tuple[str, Words], ...],
        Form(
            model_lines,
            "tables [models.NAME] of tempkb.toml with a line checkpoint and, if need be, revision, family and "
            "knows_until",
        ),
    ] = option((), "Language models that `tempkb model add` adds; a folder is named from the home.")
    strict: bool = option(False, "Whether a damaged file is an error; by default its complete pages are used.")

    chosen: frozenset[str] = frozenset()

    @classmethod
    def of(cls, values: Mapping[str, Any], why: str = "") -> "Settings":
        """Return the settings that a user set, as words or as TOML has them.

        Raises:
            SettingsError: names every value that is not allowed and every unknown name, and `why`.
        """
        try:
            made = cls(**read_all("", options_of(cls), values, "setting"), chosen=frozenset(values))
            if "first_window" in values and window_of(made.first_window, made.granularity).start != made.first_window:
                raise SettingsError(
                    f"first_window: found {values['first_window']!r} (no {made.granularity} begins on that day); "
                    "expected a day on which a window begins, such as 2001-01-01"
                )
        except SettingsError as error:
            raise SettingsError(f"{error}{why}") from None
        return made

    def changed(self, **values: Any) -> "Settings":
        """Return a copy with other values, which are not checked and count as set."""
        return replace(self, **values, chosen=self.chosen | values.keys())


@dataclass(frozen=True)
class Home:
    """A folder that holds one wiki, with the settings in force for it.

    Attributes:
        settings: as set by the user, completed with those that the home was made with.
        chosen_wiki: the wiki that a variable or `tempkb.toml` names; it overrides
            the one that a dump names.
    """

    path: Path
    settings: Settings
    chosen_wiki: str | None = None

    @property
    def lake(self) -> Path:
        """Folder of the Parquet files."""
        return self.path / "lake"

    @property
    def database(self) -> Path:
        """The DuckDB file that people query."""
        return self.path / "tempkb.duckdb"

    @property
    def dumps(self) -> Path:
        """The local mirror of dumps, in Wikimedia's own layout."""
        return self.path / "dumps"

    @property
    def checkpoints(self) -> Path:
        """Folder of the language models that were trained here."""
        return self.path / "models"

    @property
    def linkers(self) -> Path:
        """Folder of the linkers that were trained here."""
        return self.path / "linkers"

    @property
    def dagster(self) -> Path:
        """Folder of Dagster's storage."""
        return self.path / "dagster"

    @property
    def waits(self) -> Path:
        """File with what the automation has tried in vain, a line each."""
        return self.dagster / "waits.txt"

    @property
    def working(self) -> Path:
        """Folder of the locks of what processes work on: windows, a dump, a model, a linker, a run of Dagster."""
        return self.path / "working"

    def owns(self, path: Path) -> bool:
        """Is a path, which need not exist, one of the files that tempkb keeps in this home, or of its settings?"""
        folders = [self.lake, self.dumps, self.dagster, self.working, self.checkpoints, self.linkers]
        folders += [self.path / "page_lists", self.path / "releases"]
        # A link is seen both as itself and as what it leads to.
        for place in (path.resolve(), path.parent.resolve() / path.name):
            if place.parent == self.path and place.name.startswith(_OWN_FILES):
                return True
            if place == self.database.resolve() or any(place.is_relative_to(one.resolve()) for one in folders):
                return True
        return False

    @cached_property
    def _record(self) -> dict[str, Any]:
        return read_record(self.path)

    @property
    def wiki(self) -> str | None:
        """The wiki that this home holds; None before the first dump is read."""
        return self.settings.wiki

    @property
    def contributor_salt(self) -> bytes:
        """Secret key of this home with which contributors without an account number are hashed."""
        if SALT not in self._record:
            raise SettingsError(f"home {self.path}: nothing was written yet, so it has no salt; build a window first")
        return bytes.fromhex(self._record[SALT])

    def claim(self, wiki: str) -> "Home":
        """Write the record that defines this home, if there is none yet, and return the home with its wiki.

        Raises:
            SettingsError: the home already holds another wiki, or no home can hold one of that name.
        """
        self.refuse_other(wiki)
        # A record with a name that is not allowed could never be read again.
        Settings.of({"wiki": wiki}, _SET_IT)
        settings = self.settings.changed(wiki=wiki)
        if not (self.path / "home.toml").exists():
            self.path.mkdir(parents=True, exist_ok=True)
            write_record(self.path, {key: getattr(settings, key) for key in IDENTITY})
        # If several processes write first, one of them wins, and its record holds for all.
        settings = _with_record(self.path, settings)
        copy_record(self.path)
        return Home(self.path, settings, self.chosen_wiki)

    def refuse_other(self, wiki: str) -> None:
        """Refuse a dump of another wiki than the home's; writes nothing.

        Raises:
            SettingsError: names both wikis, and a home for the other one.
        """
        held = self.settings.wiki
        if held is not None and held != wiki:
            other = free_home(self.path, wiki, {"wiki": wiki})
            raise SettingsError(
                f"home {self.path} holds {held!r}, but the dump is of {wiki!r}. One home holds one wiki; "
                f"for the other use: TEMPKB_HOME={other} tempkb build ..."
            )

    def hold(self, values: Mapping[str, Any]) -> "Home":
        """Add the settings of Wikidata that the record does not have yet, and return the home with the record's.

        Args:
            values: all three of `OF_WIKIDATA`.

        Raises:
            SettingsError: the home's Wikidata was read with other values than the settings give.
        """
        add_to_record(self.path, {key: values[key] for key in OF_WIKIDATA})
        return Home(self.path, _with_record(self.path, self.settings), self.chosen_wiki)


def home_path() -> Path:
    """Return the home's absolute folder: `TEMPKB_HOME`, by default `data/demo`."""
    named = Path(os.environ.get("TEMPKB_HOME") or DEFAULT_HOME)
    try:
        return named.expanduser().resolve()
    except RuntimeError:
        raise SettingsError(
            f"TEMPKB_HOME: {str(named)!r} names the folder of a user whom this system does not know"
        ) from None


def at_home(message: str, home: Path | None = None) -> str:
    """Return a message in which every command works for a home when pasted into a shell in the working directory.

    `TEMPKB_HOME=...` is put in front of each command, unless `tempkb` alone uses the same home, or the command names
    another.

    Args:
        message: commands in it follow a colon, a semicolon or `&&`, and may begin with other
            variables.
        home: its folder; by default the one that `TEMPKB_HOME` names.
    """
    front = home_in_front(home)

    def whole(one: re.Match[str]) -> str:
        return ("" if "TEMPKB_HOME=" in one[0] else front) + one[0].removesuffix("tempkb ") + f"{program()} "

    return _TYPED.sub(whole, message)


def program() -> str:
    """How to call tempkb: by its name, or by its path if no environment is active."""
    return "tempkb" if shutil.which("tempkb") else in_shell(Path(sys.executable).with_name("tempkb"))


def home_in_front(home: Path | None = None) -> str:
    """Return `TEMPKB_HOME=... `, the prefix with which a command uses this home; empty if it needs none."""
    try:
        path = home or home_path()
        is_default = path == DEFAULT_HOME.resolve()
    except SettingsError:
        # There is no such home; the message reports this.
        return ""
    except OSError:
        # The working directory is gone.
        return f"TEMPKB_HOME={shlex.quote(os.environ.get('TEMPKB_HOME', str(DEFAULT_HOME)))} "
    return "" if is_default else f"TEMPKB_HOME={in_shell(path)} "


def in_shell(path: Path) -> str:
    """Return a path quoted for a shell: relative if it is below the working directory, else absolute."""
    try:
        here = Path.cwd()
    except OSError:
        return shlex.quote(str(path))
    return shlex.quote(str(path.relative_to(here) if path.is_relative_to(here) else path))


def free_home(path: Path, name: str, values: Mapping[str, Any]) -> str:
    """Return, quoted for a shell, a folder beside a home that can become another home, or already is the wanted one.

    Args:
        name: name of the folder; a number is added if a file, a folder of other files, or a home with other values has
            that name.
        values: settings of the other home, by name.
    """
    taken = 1
    while not _may_be_home(other := path.parent / (name if taken == 1 else f"{name}-{taken}"), values):
        taken += 1
    return in_shell(other)


def _may_be_home(path: Path, values: Mapping[str, Any]) -> bool:
    if not path.exists():
        return True
    try:
        if not path.is_dir() or not any(path.iterdir()):
            return path.is_dir()
        held = read_record(path)
    except (OSError, SettingsError):
        return False
    return bool(held) and all(held.get(key) == value for key, value in values.items())


def _other_home(path: Path, recorded: Settings, key: str, wanted: Any) -> str:
    values = {"wiki": recorded.wiki} | tomllib.loads(f"{key} = {toml(wanted)}")
    name = f"{recorded.wiki or 'wiki'}-{as_word(wanted)}" if key != "wiki" else as_word(wanted)
    return free_home(path, re.sub(r"[^\w.,-]+", "-", name), values)


def load_home(folder: Path | None = None, /, **overrides: Any) -> Home:
    """Read the settings of a home.

    Args:
        folder: its folder; by default the one that `TEMPKB_HOME` names.
        overrides: settings by field name that take precedence over variables and files.

    Raises:
        SettingsError: a value is not allowed, a name is unknown, or the home
            was made with another value.
    """
    variables, path = _of_variables(), folder or home_path()
    if _UNREADABLE.search(str(path)):
        raise SettingsError(
            f"TEMPKB_HOME: {str(path)!r} contains * ? \\ = or a control character, which DuckDB does not "
            "accept in a file's name; use a path without them"
        )
    if path.exists() and not path.is_dir():
        raise SettingsError(f"TEMPKB_HOME: {path} is a file; expected a folder, or the path of a new one")
    try:
        said = _of_file(path / "tempkb.toml")
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path / 'tempkb.toml'}: not valid TOML ({error})") from None
    settings = Settings.of(said | variables | overrides, _SET_IT)
    chosen = settings.wiki if "wiki" in settings.chosen else None
    return Home(path, _with_record(path, settings), chosen)


def _with_record(path: Path, settings: Settings) -> Settings:
    held = {key: value for key, value in read_record(path).items() if key in (*IDENTITY, *OF_WIKIDATA)}
    if not held:
        return settings
    try:
        recorded = Settings.of(held)
    except SettingsError as error:
        raise damaged_record(path, str(error)) from None
    for key in held:
        wanted, has = getattr(settings, key), getattr(recorded, key)
        # An empty list of languages means the wiki's own, which the record has.
        if key in settings.chosen and wanted != has and (key, wanted) != ("languages", ()):
            raise SettingsError(
                f"{key}: home {path} was made with {as_word(has)}, but the settings have {as_word(wanted)}. "
                f"A home keeps its values; for the other value use another folder: "
                f"TEMPKB_HOME={_other_home(path, recorded, key, wanted)} "
                f"TEMPKB_{key.upper()}={shlex.quote(as_word(wanted))} tempkb build ..."
            )
    return settings.changed(**{key: getattr(recorded, key) for key in held})


def _of_file(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text("utf-8")) if path.is_file() else {}


def _of_variables() -> dict[str, str]:
    names = {f"TEMPKB_{name.upper()}": name for name in options_of(Settings)}
    known = sorted(names.keys() | _OTHER_VARIABLES)
    there = sorted(name for name in os.environ if name.startswith("TEMPKB_"))
    if odd := [name for name in there if name not in known]:
        raise SettingsError(f"{odd[0]}: no such setting{nearest(odd[0], known)}")
    return {names[name]: os.environ[name] for name in there if name in names}
