"""Development and test: by entity, disjoint, in the wanted shares within every origin window. Pure."""

from collections.abc import Iterable, Mapping

from tempkb.benchmarks.chance import draw


def split_entities(entities: Iterable[tuple[int, str]], dev_share: float, seed: int) -> Mapping[int, str]:
    """Return the split of each entity.

    Within a window the first ones in the order of their hashes are for
    development, so that an entity which is added moves one other at most.

    Args:
        entities: (article, origin window or another stratum).
        dev_share: of each stratum.
        seed: of the release.
    """
    strata: dict[str, list[int]] = {}
    for page, stratum in entities:
        strata.setdefault(stratum, []).append(page)
    splits: dict[int, str] = {}
    for stratum, pages in strata.items():
        pages.sort(key=lambda page: (draw(seed, "split", page), page))
        # A share that is no whole number is rounded by chance, else all lone entities would fall to one side.
        n_dev = int(len(pages) * dev_share + draw(seed, "rounding", stratum) / 2**64)
        splits |= {page: "dev" if at < n_dev else "test" for at, page in enumerate(pages)}
    return splits
