"""What people read uses the words of the field, as docs/glossary.md has them: screens, help, descriptions, documents."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from tempkb.benchmarks.declared import BENCHMARKS
from tempkb.benchmarks.tasks import tasks_of
from tempkb.commands.cli import ALIASES, GROUPS, main
from tempkb.core.options import options_of
from tempkb.core.settings import Settings
from tempkb.platform.rooms import TABLES, VIEWS, tasks
from tempkb.results.papers.items import papers
from tempkb_tests.docs import DESIGNS
from tempkb_tests.test_docs import DOCUMENTS, README, ROOT, anchors_of

GLOSSARY = ROOT / "docs/glossary.md"
# Words that only this project has used, in the meaning that it gave them.
PRIVATE = re.compile(
    r"""
    (?<!make\ )(?<!enough\ )(?<!much\ )(?<!no\ )(?<!leave\ ) \brooms?\b     # module
    | (?<!minimum\ ) \bdetectable\b                             # minimum detectable effect
    | \b(?:its|their|the|earlier|low|same|own|model's)\ levels?\b (?!\ of\ 5) | \blevels?\ (?:of|in|by|on)\ (?!5\ %) | levels:
    | \bearlier\ (?:period|items)\b                             # baseline window
    | \b(?:as|like)\ controls\b (?<!baseline\ like\ controls)   # not ranked (baseline like controls)
    | \bknow(?:s|ledge)\ (?:until|dates?\b) | knowledge\ ends | end\ of\ (?:\S+\ )?\S+'s\ knowledge | \bby\ its\ answers\b
    | \bprefers\ new\b (?!\ names|\ objects) | \btwo\ ways\ |\bwithheld\b | \bborn\b | \bspells?\b (?!\ like)
    | keeps_its_promises | \bpromises\ of\b | \bdelays\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
VERDICTS = re.compile(r"^(?:more|less|cannot tell|no comparison|none: as controls|earlier|level|knows until)$")
# Sentences in which such a word has the meaning that all give it.
USUAL = ("What this cannot tell", "There are two ways", "in two ways", "it: two ways, with marks", "| levels |")


def helps(command, name="tempkb", parent=None) -> Iterator[tuple[str, str]]:
    """The help of a command and of all below it."""
    context = click.Context(command, info_name=name, parent=parent, **command.context_settings)
    yield context.command_path, command.get_help(context)
    if isinstance(command, click.Group):
        for one in command.list_commands(context):
            yield from helps(command.get_command(context, one), one, context)


HELPS = dict(helps(main))


def literals(path: Path) -> Iterator[str]:
    """The texts in a file of code that are no docstrings."""
    tree = ast.parse(path.read_text("utf-8"))
    alone = {id(one.value) for one in ast.walk(tree) if isinstance(one, ast.Expr)}
    for one in ast.walk(tree):
        if isinstance(one, ast.Constant) and isinstance(one.value, str) and id(one) not in alone:
            yield one.value


def private(text: str) -> list[str]:
    """The private words of a text, each with what is around it."""
    found = ((one, text[max(0, one.start() - 40) : one.end() + 40]) for one in PRIVATE.finditer(text))
    return [around for one, around in found if not any(said in around for said in USUAL)]


@pytest.mark.parametrize("command", HELPS)
def test_help_has_no_private_words(command):
    assert private(" ".join(HELPS[command].split())) == []


SCREENS = sorted(
    path.relative_to(ROOT)
    for path in (
        *(ROOT / "tempkb/commands").rglob("*.py"),
        *(ROOT / "tempkb/results").rglob("*.py"),
        *(ROOT / "tempkb/platform").rglob("*.py"),
        ROOT / "tempkb/models/adding.py",
        ROOT / "tempkb/models/known.py",
    )
)


@pytest.mark.parametrize("path", SCREENS, ids=str)
def test_titles_remarks_and_messages_have_no_private_words(path):
    texts = [text for text in literals(ROOT / path) if " " in text or VERDICTS.match(text)]
    # SQL has names of its own.
    said = [
        " ".join(text.split())
        for text in texts
        if "SELECT" not in text and not re.search(r"^\s+\w+ [A-Z]+:", text, re.MULTILINE)
    ]
    assert [one for text in said for one in private(text)] == []
    # Statistics have a word of their own for it, and options the names that they had.
    of_code = {"answering.py", "cli.py", "models.py"}
    assert [text for text in said if VERDICTS.match(text) and path.name not in of_code] == []


def test_descriptions_of_tables_columns_views_checks_and_figures_have_no_private_words():
    every = [*tasks(), *(task for one in BENCHMARKS for task in tasks_of(one))]
    said = {
        **{table.name: table.meaning for table in TABLES},
        **{f"{table.name}.{one.name}": one.meaning for table in TABLES for one in table.columns},
        **{view.name: view.meaning for view in VIEWS},
        **{promise.name: promise.meaning for task in every for promise in task.promises},
        **{task.name: task.how for task in every},
        **{
            f"{own.__name__}.{name}": one.meaning
            for own in (Settings, *DESIGNS.values())
            for name, one in options_of(own).items()
        },
        **{
            f"{paper.name} {name}": f"{item.shows} {item.differs}"
            for paper in papers().values()
            for name, item in paper.items.items()
        },
    }
    assert len(said) > 500
    # A heading has a level; a text that is visible again has stood for several spells.
    of_texts = {"page_texts.sections", "stable_snapshots.standing_seconds", "stable_snapshots.last_stood_at"}
    assert {name: found for name, text in said.items() if name not in of_texts and (found := private(text))} == {}


@pytest.mark.parametrize(
    # Pages of tables are generated from the declarations.
    "name",
    [one for one in DOCUMENTS if Path(one).name not in ("CHANGELOG.md", "errata.md") and "docs/tables/" not in one],
)
def test_documents_have_no_private_words(name):
    text = re.sub(r"```.*?```|<!--.*?-->", "", (ROOT / name).read_text("utf-8"), flags=re.DOTALL)
    text = re.sub(r"`[^`\n]+`|\]\([^)\n]*\)", "", text)
    assert private(" ".join(text.split())) == []


def test_the_glossary_has_a_sentence_for_each_word_and_the_readme_leads_there():
    parts = re.split(r"^### .+$", GLOSSARY.read_text("utf-8"), flags=re.MULTILINE)
    assert len(parts) > 30
    assert all(re.search(r"\w.*[.)]", part) for part in parts[1:])
    linked = set(re.findall(r"docs/glossary\.md#([\w-]+)", README))
    assert (
        {"window", "training-cutoff", "preference-rate", "baseline-window", "verdict"} <= linked <= anchors_of(GLOSSARY)
    )


def test_help_has_each_command_in_one_group():
    listed = [name for names in GROUPS.values() for name in names]
    assert sorted(listed) == sorted(main.commands)
    assert [line for line in HELPS["tempkb"].splitlines() if line.endswith(":")][-len(GROUPS) :] == [
        f"{title}:" for title in GROUPS
    ]


def test_other_names_of_options_are_taken_and_not_listed():
    from click.testing import CliRunner

    assert {"windows", "models", "cuts", "seeds"} <= ALIASES.keys()
    listed = {flag for said in HELPS.values() for flag in re.findall(r"--([a-z-]+)", said)}
    assert listed.isdisjoint(ALIASES)
    for typed in (
        ["build", "--windows"],
        ["knows", "--windows"],
        ["knows", "--models"],
        ["linker", "train", "r", "--seeds"],
    ):
        done = CliRunner().invoke(main, typed)
        # The option is known, and lacks its argument.
        assert f"Option '{typed[-1][:-1]}' requires an argument" in done.output
    # Of the demo's models it is the number of seeds.
    assert "is not in the range x>=1" in CliRunner().invoke(main, ["model", "demo", "--seeds", "0"]).output
