"""Describes an export in JSON-LD, by Croissant 1.1 with its vocabulary of responsible AI (RAI 1.0) and PROV-O.

https://docs.mlcommons.org/croissant/docs/croissant-spec-1.1.html. `mlcroissant` validates the description and reads the
records of each config but `windows`. Texts are those of the card; numbers, sources and steps are of the manifests.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import tempkb
from tempkb.benchmarks.benchmark import CREATOR, URL
from tempkb.benchmarks.card import Card
from tempkb.benchmarks.export_folder import ExportFolder
from tempkb.benchmarks.loading import Config, Loadable
from tempkb.benchmarks.sources import files_of
from tempkb.core.files import toml_beside
from tempkb.core.wording import counted
from tempkb.store.tables import Table
from tempkb.store.types import ColumnType, ListOf, StructOf
from tempkb.store.versions import Version

_PARQUET = "application/x-parquet"
Steps = Sequence[tuple[Table, Version]]


def describe(
    name: str, card: Card, loadables: Sequence[Loadable], steps: Steps, out: ExportFolder, options: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the description of an export: what it is, its files, the columns of its configs, how it was made.

    Args:
        steps: the tables that were made for it, in the order of the data, each with its versions.
        options: of the export.
    """
    told = toml_beside(__file__, "croissant.toml")
    configs = [(one, one.config) for one in loadables if one.config]
    return {
        "@context": {**told["context"], **{term: f"cr:{term}" for term in told["terms"].split()}},
        "@type": "sc:Dataset",
        "conformsTo": told["conforms_to"],
        "name": name,
        "description": " ".join(card.intro.split()),
        "url": options.get(URL.name) or told["url"],
        "creator": {"@type": "sc:Organization", "name": options.get(CREATOR.name) or told["creator"]},
        # The last day of what it is made from, since the same release has the same bytes whenever it is exported.
        "datePublished": card.rai.get("dataCollectionTimeframe", ["1970-01-01"])[-1],
        "version": "1.0.0",
        "license": told["licences"].get(card.licence, card.licence),
        "inLanguage": card.language,
        "keywords": [*card.tags],
        "citeAs": card.citation,
        "isLiveDataset": False,
        **{f"rai:{field}": said for field, said in card.rai.items()},
        "rai:dataCollectionMissingData": _left_out(steps),
        "rai:dataReleaseMaintenancePlan": card.maintenance,
        "prov:wasDerivedFrom": [*_sources(card)],
        "prov:wasGeneratedBy": [*_activities(steps)],
        "distribution": [*_files(out), *(_file_set(one) for one, _ in configs)],
        "recordSet": [_record_set(*one, told["types"]) for one in configs],
    }


def _left_out(steps: Steps) -> str:
    """What was seen and not kept, counted by reason."""
    counts = Counter[str]()
    for row in (row for _, version in steps for row in version.exclusions if not row["reason"].startswith("kept")):
        counts[f"{row['table_name']}: {row['reason']}"] += row["n"]
    return "; ".join(f"{reason}, {n:,}" for reason, n in sorted(counts.items())) or "Nothing was left out."


def _sources(card: Card) -> Iterator[dict[str, Any]]:
    """The files of the dumps."""
    for name, digest in sorted({pair for one in card.made for pair in files_of(one).items()}):
        dump, _, file = name.partition("/")
        label = f"{dump}: {file or 'its files are not known any more'}"
        yield {"@type": "prov:Entity", "prov:label": label, **({"sc:sha256": digest} if digest else {})}


def _activities(steps: Steps) -> Iterator[dict[str, Any]]:
    """The steps of the pipeline: what each made, by which code, and how many rows."""
    for table in dict.fromkeys(table for table, _ in steps):
        made = [version for one, version in steps if one is table]
        codes = " and ".join(sorted({version.code for version in made}))
        rows = counted(sum(version.rows for version in made), "row")
        yield {
            "@type": "prov:Activity",
            "prov:label": table.name,
            "sc:description": f"{table.meaning} {rows}, made by {codes}.",
            "prov:wasAssociatedWith": {"@type": "prov:SoftwareAgent", "prov:label": f"tempkb {tempkb.__version__}"},
        }


def _named(kind: str, name: str, **more: Any) -> dict[str, Any]:
    return {"@type": f"cr:{kind}", "@id": name, "name": name, **more}


def _files(out: ExportFolder) -> Iterator[dict[str, Any]]:
    for name, size, digest in out.written("parquet"):
        about = {"contentSize": f"{size} B", "encodingFormat": _PARQUET, "sha256": digest}
        yield _named("FileObject", name, contentUrl=name, **about)


def _file_set(loadable: Loadable) -> dict[str, Any]:
    includes = [pattern for _, pattern in loadable.splits]
    return _named("FileSet", f"files-of-{loadable.name}", encodingFormat=_PARQUET, includes=includes)


def _record_set(loadable: Loadable, config: Config, kinds: Mapping[str, str]) -> dict[str, Any]:
    name = config.name
    return _named(
        "RecordSet",
        name,
        description=f"{loadable.n_rows:,} rows; each is {config.meaning}.",
        **({"key": [{"@id": f"{name}/{one}"} for one in config.key]} if config.key else {}),
        field=[{**_field(f"{name}/{one.name}", one.type, kinds), "description": one.meaning} for one in config.columns],
    )


def _field(place: str, kind: ColumnType, kinds: Mapping[str, str]) -> dict[str, Any]:
    """A column, or what is inside it, with its parts; `place` is config/column/part."""
    config, column, *inside = place.split("/")
    field: dict[str, Any] = {"@type": "cr:Field", "@id": place, "name": place.rpartition("/")[2]}
    if isinstance(kind, ListOf):
        field |= {"isArray": True, "arrayShape": "-1"}
        kind = kind.item
    if isinstance(kind, StructOf):
        return field | {"subField": [_field(f"{place}/{name}", one, kinds) for name, one in kind.fields]}
    path = {"transform": {"jsonPath": ".".join(inside)}} if inside else {}
    source = {"fileSet": {"@id": f"files-of-{config}"}, "extract": {"column": column}, **path}
    return field | {"dataType": kinds[str(kind)], "source": source}
