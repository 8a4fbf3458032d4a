"""Small tables of prompts and scores, written by hand, under the views of the platform; and formulas in plain Python."""

import math
from collections import defaultdict
from datetime import date

import pyarrow as pa
from scipy.stats import t

from tempkb.platform.rooms import TABLES, VIEWS
from tempkb.results.linking_sums import NEEDS, sums_of
from tempkb.results.tables import LINKING_SUMS
from tempkb.store.memory import in_memory
from tempkb.store.tables import by_name

T5, GPT, BERT = "seq2seq.span_end-1.f32", "causal.span_end-1.f32", "masked.answer_l2r-1.f32"
Q1, Q2, Q3, Q4 = (date(2021, month, 1) for month in (1, 4, 7, 10))
TABLE, VIEW = by_name(TABLES), by_name(VIEWS)


class World:
    """Rows by table; what a row does not say is null."""

    def __init__(self):
        self.rows = defaultdict(list)

    def add(self, table, **row):
        self.rows[table].append(row)

    def prompt(self, benchmark, window, item, target, prompt_id, cluster, /, **more):
        """A prompt of an item that is of a cluster."""
        usual = {"release": "r", "variant": "undated", "role": "current", "split": "test"}
        row = {
            "window_start": window,
            "item_id": item,
            "target_id": target,
            "prompt_id": prompt_id,
            "cluster_id": cluster,
        }
        self.add(f"{benchmark}_prompts", **usual | row | more)

    def model(self, name="m", certainly=None, possibly=None):
        self.add("models", model=name, knows_certainly_until=certainly, knows_possibly_until=possibly, status="ready")

    def read(self, view, **equal):
        """The rows of a view, as dicts, some columns of which have certain values (None: null)."""
        with in_memory() as connection:
            self.show(connection, view)
            columns = [column[0] for column in connection.execute(f"DESCRIBE {view}").fetchall()]
            assert set(equal) <= set(columns)
            rows = connection.sql(f"FROM {view}").to_arrow_table().to_pylist()
        return [row for row in rows if all(row[name] == value for name, value in equal.items())]

    def show(self, connection, name):
        """Make a table or view, and before it what it needs."""
        if name in TABLE:
            connection.register(name, self.table(name))
            return
        for other in (*VIEW[name].needs, *VIEW[name].optional):
            self.show(connection, other)
        connection.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS {VIEW[name].query}")

    def table(self, name):
        """The rows of a table, with all of its columns."""
        return pa.Table.from_pylist(self.rows[name], TABLE[name].schema)

    def one(self, view, **equal):
        (row,) = self.read(view, **equal)
        return row

    def score(self, prompt_id, nats, model="m", scorer=T5, n_tokens=2, status="scored", **more):
        """What a model gives; `nats` is the log-probability."""
        self.add(
            "prompt_scores",
            prompt_id=prompt_id,
            model=model,
            scorer=scorer,
            status=status,
            log_prob_nats=nats,
            n_tokens=n_tokens,
            **{"n_chars": 4, **more},
        )


class Facts(World):
    """Queries of DynamicTempLAMA. A prompt's id is subject, object and variant, so equal texts share it."""

    def query(self, window, subject, *objects, relation="P54", split="test", release="r", granularity="quarter"):
        """A query with its answers, whose labels are their ids."""
        item = f"{subject}_{relation}_{window}"
        self.add(
            "dynamic_templama_queries",
            release=release,
            window_start=window,
            query_id=item,
            template_no=1,
            subject_id=subject,
            relation=relation,
            answers=[{"entity_id": one, "label": one, "aliases": []} for one in objects],
            split=split,
            granularity=granularity,
            is_provisional=False,
        )
        for one in objects:
            self.ask(window, subject, one, "current", relation=relation, split=split, release=release)

    def ask(self, window, subject, one, role, place=None, relation="P54", split="test", release="r"):
        for variant in ("undated", "no_subject", "object_last", "no_subject_object_last", "dated"):
            self.prompt(
                "dynamic_templama",
                window,
                f"{subject}_{relation}_{window}",
                one,
                f"{subject} {one} {variant}",
                subject,
                release=release,
                target=one,
                variant=variant,
                role=role,
                stands_for_id=place,
                split=split,
            )

    def change(self, window, subject, one, change, role=None, paired=None, paired_window=None, **more):
        self.add(
            "dynamic_templama_changes",
            **{"release": "r", "relation": "P54", **more},
            window_start=window,
            subject_id=subject,
            object_id=one,
            change=change,
            role=role,
            paired_object_id=paired,
            paired_window_start=paired_window,
        )

    def handover(self, subject, old, new, arrival=Q2, left=Q3, control=None, **more):
        """One object takes the place of another: both hold in `arrival`, and the new one alone in `left`."""
        release = {name: value for name, value in more.items() if name == "release"}
        self.query(arrival, subject, old, new, **more)
        self.query(left, subject, new, **more)
        self.ask(left, subject, old, "previous", **more)
        self.change(arrival, subject, new, "updated", "arriving", old, left, **release)
        self.change(left, subject, old, "updated", "leaving", new, arrival, **release)
        if control:
            for drawn, own in zip(control, (new, old), strict=True):
                self.ask(left, subject, drawn, "control", own, **more)

    def tell(self, subject, nats, model="m", scorer=T5, variant="undated", **more):
        """What a model gives for objects of a subject's query, by object."""
        for one, value in nats.items():
            self.score(f"{subject} {one} {variant}", value, model, scorer, **more)


class Cloze(World):
    """Items of ECBD, in all default variants."""

    def item(
        self,
        item,
        entity,
        nats,
        origin=Q2,
        kind="np",
        split="test",
        subset="odie",
        release="e",
        scorer="causal.span-1.f32",
        granularity="quarter",
        n_tokens=2,
        model="m",
        **more,
    ):
        """An item and its score: `nats` is the mean negative log-probability of a token, by variant or of original."""
        by_variant = nats if isinstance(nats, dict) else {"original": nats}
        self.add(
            "ecbd_cloze",
            release=release,
            cloze_id=item,
            entity_id=entity,
            page_id=1,
            subset=subset,
            span_kind=kind,
            origin_from=origin,
            origin_granularity=granularity,
            sentence=f"about {item}",
            split=split,
            **more,
        )
        for variant, value in by_variant.items():
            self.prompt(
                "ecbd",
                origin,
                item,
                "answer",
                f"{item} {variant}",
                entity,
                release=release,
                variant=variant,
                split=split,
            )
            if value is not None:
                self.score(f"{item} {variant}", -value * n_tokens, model, scorer, n_tokens)


def clustered(values, clusters):
    """Mean, standard error and the ends of the interval, by the formula of the specification."""
    theta = math.fsum(values) / len(values)
    sums = defaultdict(float)
    for value, cluster in zip(values, clusters, strict=True):
        sums[cluster] += value - theta
    n = len(sums)
    error = math.sqrt(n / (n - 1) * math.fsum(one**2 for one in sums.values())) / len(values)
    half = t.ppf(0.975, n - 1) * error
    return theta, error, theta - half, theta + half


def figures(row):
    return row["value"], row["standard_error"], row["low"], row["high"]


class Linked(World):
    """Mentions of TempEL with the ranks that linkers give to their entities."""

    def show(self, connection, name):
        """Make the table of sums, too, from the rows of the others."""
        if name != LINKING_SUMS.name:
            super().show(connection, name)
            return
        for other in NEEDS:
            self.show(connection, other)
        connection.register(name, sums_of(lambda query: connection.sql(query).to_arrow_table()))

    def linker(self, name, cut=None, seed=1, preset="demo", release="t", recipe="{}"):
        trained = {"release": release, "cut": cut, "seed": seed, "preset": preset, "recipe": recipe}
        self.add("linkers", linker=name, kind="bi-encoder" if cut else "prior", **(trained if cut else {}))
        self.trained = {**getattr(self, "trained", {}), name: (cut, seed if cut else None)}

    def link(self, linker, cut, entity, rank, category="continual", anchor=None, release="t", **more):
        """A mention of an entity at a snapshot; without an anchor it is another one than all before."""
        model_cut, seed = self.trained[linker]
        rows = self.rows["linking_scores"]
        row = {"pool": "own", "subset": "test", "start_char": 0, "gold_is_candidate": True, "n_candidates": 100, **more}
        self.add(
            "linking_scores",
            linker=linker,
            release=release,
            cut=cut,
            target_page_id=entity,
            anchor_page_id=len(rows) if anchor is None else anchor,
            category=category,
            model_cut=model_cut,
            seed=seed,
            rank=rank,
            **row,
        )
