"""What models are asked about the items of a benchmark: the table of prompts, and how each family of models answers.

A benchmark makes prompts from its items with pure functions; scorers (`tempkb/models`) know prompts and no benchmark.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tempkb.store.columns import columns, rules
from tempkb.store.tables import Table, View, table_of_releases

ROLES = ("current", "previous", "control", "candidate", "wrong_date")


@dataclass(frozen=True)
class Way:
    """How models of a family are asked about a benchmark.

    Attributes:
        template: of the scorer, or name of the decoder.
        variants: forms of prompts.
        condition: SQL that chooses among these prompts; empty for all.
    """

    template: str
    variants: tuple[str, ...]
    condition: str = ""


@dataclass(frozen=True)
class Prompting:
    """How models are asked about a benchmark's items.

    Attributes:
        table: the benchmark's table of prompts, made by `prompts_table`.
        variants: all variants of its prompts, those that are scored by default first.
        n_default: how many of them are scored by default.
        templates: the template of scorers by family of models, such as `{"causal": "span_end"}`.
        answered: by family of models, how these fill the gaps of its prompts by default; others are not asked to.
        further: by variant that no release stores, the view that makes its prompts of those of `table` alone.
        without_left: a further template, by family, by which prompts without a left context are scored as well.
        dated: the variant whose prompts begin with their date, by which models that are told the time are asked first.
    """

    table: Table
    variants: tuple[str, ...]
    n_default: int
    templates: Mapping[str, str]
    view: str
    without_left: Mapping[str, str] = field(default_factory=dict)
    answered: Mapping[str, Way] = field(default_factory=dict)
    further: Mapping[str, View] = field(default_factory=dict)
    dated: str = ""

    @property
    def defaults(self) -> tuple[str, ...]:
        """The variants that are scored by default."""
        return self.variants[: self.n_default]

    @property
    def is_by_own_template(self) -> str:
        """SQL: was a score given by the benchmark's own template, so that a model has one value an item?"""
        return " OR ".join(f"scorer LIKE '{family}.{name}-%'" for family, name in self.templates.items())


def prompts_table(
    benchmark: str,
    title: str,
    item: str,
    target: str,
    variants: Mapping[str, str],
    window: str,
    cluster: str,
    declare: Callable[..., Table] = table_of_releases,
) -> Table:
    """Declare the table of a benchmark's prompts.

    Args:
        benchmark: its name; the table is `<benchmark>_prompts`.
        item: what `item_id` refers to.
        target: what `target_id` refers to.
        variants: meaning of each variant.
        window: what `window_start` is of an item.
        cluster: what `cluster_id` refers to.
        declare: makes the table, and knows its partitions.
    """
    names = ", ".join(f"'{name}'" for name in variants)
    roles = ", ".join(f"'{name}'" for name in ROLES)
    meanings = "; ".join(f"{name}: {meaning}" for name, meaning in variants.items())
    return declare(
        name=f"{benchmark}_prompts",
        meaning=f"The prompts of {title}: what models are asked about each item. `prompt_scores` has the answers.",
        columns=columns(f"""
            release
            window_start DATE: {window}
            item_id VARCHAR: {item}
            target_id VARCHAR: {target}
            variant VARCHAR: form of the prompt; {meanings}
            prompt_id VARCHAR: hash of the three parts of the text; equal prompts of any release share it
            left_context VARCHAR (bulk): text before the target, with the blank between them
            target VARCHAR (bulk): the text whose log-probability is asked for
            right_context VARCHAR (bulk): text after the target, to the end of its sentence
            role VARCHAR: current (right in the window), previous (was right in the window before), control (of another
                item), candidate (of a closed set) or wrong_date (asked about a window in which it is not right)
            stands_for_id VARCHAR: for a control: target_id of the prompt of the same item in whose place it is asked;
                null for others
            cluster_id VARCHAR: {cluster}
            split VARCHAR: split of the item; null if it belongs to none
        """),
        key=("item_id", "target_id", "variant"),
        persist="view",
        rules=rules(f"""
            known_variant: the variant has a known value
                variant NOT IN ({names})
            known_role: the role has a known value
                role NOT IN ({roles})
            has_a_target: the target has a character that is not blank
                trim(target) = ''
            is_an_id: a prompt's id has 32 hex digits
                NOT regexp_full_match(prompt_id, '[0-9a-f]{{32}}')
            control_stands_for_another: a control, and nothing else, stands for another target
                (role = 'control') <> (stands_for_id IS NOT NULL)
        """),
    )


_SCORES = "prompt_scores"  # declared in a later room
_SHOWN = (
    "release, window_start, item_id, target_id, variant, role, stands_for_id, cluster_id, split, left_context, target, "
    "right_context"
)


def scores_view(name: str, title: str, *tables: str) -> View:
    """Return the view that joins prompts with their scores.

    Args:
        tables: names of their tables of prompts; if there are several, some may be missing.
    """
    prompts = " UNION ALL ".join(f"SELECT {_SHOWN}, prompt_id FROM {table}" for table in tables)
    return View(
        name=name,
        meaning=f"The scores of the prompts of {title}: one row for each prompt, model and scorer.",
        query=f"""
        SELECT s.model, s.scorer, {_SHOWN}, s.status, s.log_prob_nats, s.n_tokens, s.n_chars, prompt_id
        FROM ({prompts}) AS p JOIN {_SCORES} AS s USING (prompt_id)
        """,
        needs=(_SCORES, *(tables if len(tables) == 1 else ())),
        optional=tables if len(tables) > 1 else (),
    )
