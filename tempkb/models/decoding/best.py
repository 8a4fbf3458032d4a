"""The best of many numbers, with an order of equal ones that does not depend on how they are found."""

import torch


def best(values: torch.Tensor, k: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the largest numbers of each line and their places, the largest first, equal ones by their place.

    Args:
        values: [lines, numbers], at least one number a line.
        k: how many are wanted; fewer where a line has fewer.

    Returns:
        Numbers and places, both [lines, k].
    """
    k = min(k, values.shape[1])
    found, places = values.topk(k)
    # Of numbers equal to the last, topk takes any.
    is_tied = (values == found[:, -1:]).sum(-1) > (found == found[:, -1:]).sum(-1)
    for line in is_tied.nonzero().flatten().tolist():
        above = found[line] > found[line, -1]
        equal = (values[line] == found[line, -1]).nonzero().flatten()
        places[line] = torch.cat((places[line][above], equal[: k - int(above.sum())]))
    places = places.sort(-1).values
    found = values.gather(1, places)
    order = torch.sort(found, dim=-1, descending=True, stable=True).indices
    return found.gather(1, order), places.gather(1, order)
