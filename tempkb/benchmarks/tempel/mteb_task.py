"""The task of MTEB that an export has: a Python file that reads the files beside it, and needs no tempkb. Pure."""

import json
from collections.abc import Mapping
from datetime import date

MTEB_TASK = '''\
"""A task of MTEB: to find the entity of each mention, at each snapshot. It needs mteb and the files beside it.

    import mteb
    from mteb_task import EntityLinking

    mteb.evaluate(model, EntityLinking())
"""

import csv
import json
from pathlib import Path

import mteb
from datasets import Dataset
from mteb.abstasks import AbsTaskRetrieval

FOLDER = Path(__file__).resolve().parent
TASK = json.loads((FOLDER / "task.json").read_text("utf-8"))
CITATION = """@inproceedings{zaporojets2022tempel,
  title = {TempEL: Linking Dynamically Evolving and Newly Emerging Entities},
  author = {Zaporojets, Klim and Kaffee, Lucie-Aim{\\\\'e}e and Deleu, Johannes and Demeester, Thomas and
            Develder, Chris and Augenstein, Isabelle},
  booktitle = {Advances in Neural Information Processing Systems, Datasets and Benchmarks Track},
  year = {2022}
}"""


class EntityLinking(AbsTaskRetrieval):
    """Mentions are queries, and entities are documents. Each snapshot is a subset.

    The score of a subset is the share of its mentions whose entity is among the first 64. It is given for continual
    and for new entities as well, for example as `new_hit_rate_at_64`.
    """

    k_values = (1, 2, 4, 8, 16, 32, 64)
    metadata = mteb.TaskMetadata(
        name=TASK["name"],
        description=TASK["description"],
        reference="https://arxiv.org/abs/2302.02500",
        dataset={"path": TASK["name"], "revision": TASK["revision"]},
        type="Retrieval",
        category="t2t",
        modalities=["text"],
        eval_splits=["test"],
        eval_langs={snapshot: [TASK["language"]] for snapshot in TASK["snapshots"]},
        main_score="hit_rate_at_64",
        date=(TASK["snapshots"][0], TASK["snapshots"][-1]),
        domains=["Encyclopaedic", "Written"],
        task_subtypes=[],
        license="cc-by-sa-4.0",
        annotations_creators="derived",
        dialect=[],
        sample_creation="found",
        prompt={"query": "Given a mention of an entity and the text around it, retrieve the entity."},
        bibtex_citation=CITATION,
    )

    def load_data(self, num_proc=None, **kwargs):
        """Read the files of the snapshots. A corpus is held in memory."""
        if self.data_loaded:
            return
        self.dataset, self.categories = {}, {}
        for snapshot in self.hf_subsets:
            corpus = Dataset.from_list(
                [{"id": row["_id"], "title": row["title"], "text": row["text"]} for row in _rows(snapshot, "corpus")]
            )
            queries = list(_rows(snapshot, "queries"))
            self.categories[snapshot] = {row["_id"]: row["metadata"]["category"] for row in queries}
            self.dataset[snapshot] = {}
            for split in self.eval_splits:
                relevant = _relevant(snapshot, split)
                asked = [{"id": row["_id"], "text": row["text"]} for row in queries if row["_id"] in relevant]
                self.dataset[snapshot][split] = {
                    "corpus": corpus,
                    "queries": Dataset.from_list(asked),
                    "relevant_docs": relevant,
                    "top_ranked": None,
                }
        self.data_loaded = True

    def task_specific_scores(self, scores, qrels, results, hf_split, hf_subset):
        """Return the hit rates of continual and of new entities."""
        found = {}
        categories = self.categories[hf_subset]
        for category in sorted({categories[query] for query in qrels}):
            asked = [query for query in qrels if categories[query] == category]
            for k in self.k_values:
                hits = sum(scores.get(query, {}).get(f"success_{k}", 0) for query in asked)
                found[f"{category}_hit_rate_at_{k}"] = round(hits / len(asked), 5)
        return found


def _rows(snapshot, name):
    with (FOLDER / snapshot / f"{name}.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def _relevant(snapshot, split):
    with (FOLDER / snapshot / "qrels" / f"{split}.tsv").open(encoding="utf-8", newline="") as lines:
        return {
            row["query-id"]: {row["corpus-id"]: int(row["score"])} for row in csv.DictReader(lines, delimiter="\\t")
        }
'''
"""The file `mteb_task.py` of an export."""

_UNKNOWN = "und-Zyyy"
_TAGS_IN_WORDS = """
af:afr-Latn ar:ara-Arab arz:arz-Arab ast:ast-Latn az:aze-Latn azb:azb-Arab ba:bak-Cyrl be:bel-Cyrl be-tarask:bel-Cyrl
bg:bul-Cyrl bn:ben-Beng br:bre-Latn bs:bos-Latn ca:cat-Latn ce:che-Cyrl ceb:ceb-Latn cs:ces-Latn cv:chv-Cyrl cy:cym-Latn
da:dan-Latn de:deu-Latn el:ell-Grek en:eng-Latn eo:epo-Latn es:spa-Latn et:est-Latn eu:eus-Latn fa:fas-Arab fi:fin-Latn
fr:fra-Latn fy:fry-Latn ga:gle-Latn gl:glg-Latn gsw:gsw-Latn gu:guj-Gujr he:heb-Hebr hi:hin-Deva hr:hrv-Latn ht:hat-Latn
hu:hun-Latn hy:hye-Armn id:ind-Latn io:ido-Latn is:isl-Latn it:ita-Latn ja:jpn-Jpan jv:jav-Latn ka:kat-Geor kk:kaz-Cyrl
kn:kan-Knda ko:kor-Hang ku:kmr-Latn ky:kir-Cyrl la:lat-Latn lb:ltz-Latn lmo:lmo-Latn lt:lit-Latn ltg:ltg-Latn
lv:lav-Latn mg:mlg-Latn min:min-Latn mk:mkd-Cyrl ml:mal-Mlym mr:mar-Deva ms:msa-Latn my:mya-Mymr nan:nan-Latn
nb:nob-Latn ne:nep-Deva nl:nld-Latn nn:nno-Latn oc:oci-Latn pa:pan-Guru pl:pol-Latn pnb:pnb-Arab pt:por-Latn ro:ron-Latn
ru:rus-Cyrl sco:sco-Latn sh:hbs-Latn si:sin-Sinh sk:slk-Latn sl:slv-Latn sq:sqi-Latn sr:srp-Cyrl su:sun-Latn sv:swe-Latn
sw:swa-Latn ta:tam-Taml te:tel-Telu tg:tgk-Cyrl th:tha-Thai tl:tgl-Latn tr:tur-Latn tt:tat-Cyrl uk:ukr-Cyrl ur:urd-Arab
uz:uzb-Latn vi:vie-Latn vo:vol-Latn war:war-Latn yue:yue-Hant zh:zho-Hans
"""
_TAGS: Mapping[str, str] = dict(pair.split(":") for pair in _TAGS_IN_WORDS.split())


def language_tag(language: str) -> str:
    """Return a wiki's language as MTEB names languages: ISO 639-3 and ISO 15924, by Wikidata's code.

    >>> language_tag("nb"), language_tag("yue"), language_tag("xx")
    ('nob-Latn', 'yue-Hant', 'und-Zyyy')
    """
    return _TAGS.get(language, _UNKNOWN)


def task_settings(release: str, language: str, pool: str, documents: Mapping[date, int], revision: str) -> str:
    """Return the file `task.json`, which the task reads.

    Args:
        pool: the entities among which mentions are to be found.
        documents: how many these are, by snapshot.
        revision: digest of the files; results of other files are not taken for results of these.
    """
    values = {
        "name": f"TempEL-{release}",
        "description": f"Find the entity of each mention among the entities of a snapshot (pool {pool}).",
        "language": language_tag(language),
        "snapshots": [cut.isoformat() for cut in documents],
        "pool": pool,
        "documents": list(documents.values()),
        "revision": revision,
    }
    return json.dumps(values, indent=1) + "\n"
