"""A home with a release of TempEL and made-up ranks of two linkers, of two snapshots, and of the prior."""

import shutil
from datetime import date
from hashlib import md5

import pyarrow as pa
import pytest

from tempkb.benchmarks.register import create, keep
from tempkb.benchmarks.tempel.benchmark import TEMPEL
from tempkb.benchmarks.tempel.design import make_design
from tempkb.engine.steps import Look
from tempkb.models.linking.steps import SCORES, STEPS
from tempkb.models.linking.tables import LINKERS, LINKING_SCORES, N_TOP, scores_partition
from tempkb.platform.api import open_store
from tempkb.results.tables import LINKING_SUMS
from tempkb.store.drafts import Provenance
from tempkb_tests.benchmarks.building import build_release
from tempkb_tests.results.making import make

CUTS = (date(2022, 1, 1), date(2023, 1, 1))


def fill_linked(home, demo_home):
    """Make the home `home` from that of the demo; a linker has all of its own snapshot right, and the prior nothing."""
    shutil.copytree(demo_home, home)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("TEMPKB_HOME", str(home))
        store = open_store()
        release = create(store.home, TEMPEL, "small", make_design("small", CUTS, {}), "r")
        keep(store.home, release)
        build_release(store, TEMPEL, release)
        for name, model_cut in (("r-2022", CUTS[0]), ("r-2023", CUTS[1]), ("prior", None)):
            if model_cut:
                add_linker(store, name, model_cut)
            add_scores(store, name, model_cut)
        make(store, LINKING_SUMS)
        store.publish()


def add_linker(store, name, model_cut, **columns):
    """Write the row of a linker that was trained on a snapshot."""
    digests = dict.fromkeys(("weights_sha256", "config_sha256", "tokenizer_sha256"), "0")
    row = {"linker": name, "kind": "bi-encoder", "release": "r", "cut": model_cut, "seed": 1, "preset": "demo"}
    row |= {"recipe": "{}", "dim": 4, **digests, **columns}
    store.write(LINKERS, name, [pa.Table.from_pylist([row], LINKERS.schema)], Provenance())


def add_scores(store, name, model_cut, pool="own"):
    """Write where a linker ranks the entities of all test mentions: first, at place 30, or nowhere."""
    for cut in CUTS:
        pages = [row["page_id"] for row in store.read("tempel_entities", release="r", cut=cut).to_pylist()]
        rows = []
        for m in store.read("tempel_mentions", release="r", cut=cut, subset="test").to_pylist():
            key = {
                name: m[name] for name in ("wiki", "release", "cut", "target_page_id", "anchor_page_id", "start_char")
            }
            luck = md5(f"{key}".encode()).digest()[0] % 2  # noqa: S324
            rank = 1 if model_cut == cut else 30 if luck else None
            top = [page for page in pages if page != m["target_page_id"]][:N_TOP]
            if rank is not None:
                top = [*top[: rank - 1], m["target_page_id"], *top[rank - 1 :]][:N_TOP]
            row = {**key, "linker": name, "pool": pool, "subset": "test", "category": m["category"], "seed": 1}
            row |= {"model_cut": model_cut, "rank": rank, "gold_is_candidate": True, "n_candidates": 400, "n_tied": 0}
            rows.append({**row, "top_page_ids": top, "top_scores": [0.0] * len(top), "top_similarity": 0.1})
        table = pa.Table.from_pylist(rows, LINKING_SCORES.schema)
        key = scores_partition(name, "r", str(cut), pool)
        store.write(LINKING_SCORES, key, [table], Look(store, STEPS).provenance(SCORES, LINKING_SCORES, key))
