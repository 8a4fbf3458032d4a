"""Divides entities between dev and test, with the design's shares within every origin window. Pure."""

from collections.abc import Iterable, Mapping

from tempkb.benchmarks.chance import draw


def split_entities(entities: Iterable[tuple[int, str]], dev_share: float, seed: int) -> Mapping[int, str]:
    """Return the split of each entity, by page number.

    Within a stratum the first ones in the order of their hashes are dev, so that an
    added entity moves at most one other.

    Args:
        entities: (page number, stratum); the stratum is the origin window, or `popular`.
        dev_share: share of each stratum that is dev.
    """
    strata: dict[str, list[int]] = {}
    for page, stratum in entities:
        strata.setdefault(stratum, []).append(page)
    splits: dict[int, str] = {}
    for stratum, pages in strata.items():
        pages.sort(key=lambda page: (draw(seed, "split", page), page))
        # A share that is not a whole number is rounded at random; otherwise all single entities would get one split.
        n_dev = int(len(pages) * dev_share + draw(seed, "rounding", stratum) / 2**64)
        splits |= {page: "dev" if at < n_dev else "test" for at, page in enumerate(pages)}
    return splits
