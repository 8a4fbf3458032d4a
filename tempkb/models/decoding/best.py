"""The best of many numbers, with an order of equal ones that does not depend on how they are found."""

import torch

_PIECE = 64  # numbers of which at first only the largest is looked at


def best(values: torch.Tensor, k: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the largest numbers of each line and their places, the largest first, equal ones by their place.

    Args:
        values: [lines, numbers], at least one number a line.
        k: how many are wanted; fewer where a line has fewer.

    Returns:
        Numbers and places, both [lines, k].
    """
    n_lines, n = values.shape
    k = min(k, n)
    if n % _PIECE or n < 4 * _PIECE * k:
        return _best(values, k)
    # Each of the k pieces with the largest maxima has a number at least as large as any of the other pieces.
    pieces = values.view(n_lines, -1, _PIECE)
    chosen = _best(pieces.amax(-1), k)[1].sort(-1).values
    numbers = pieces.gather(1, chosen[:, :, None].expand(-1, -1, _PIECE)).view(n_lines, -1)
    found, places = _best(numbers, k)
    return found, chosen.gather(1, places // _PIECE) * _PIECE + places % _PIECE


def _best(values: torch.Tensor, k: int) -> tuple[torch.Tensor, torch.Tensor]:
    found, places = values.topk(min(k + 1, values.shape[1]))
    # Of equal numbers, topk takes any in any order.
    for line in (found[:, 1:] == found[:, :-1]).any(-1).nonzero().flatten().tolist():
        last = found[line, k - 1]
        above = places[line][found[line] > last].sort().values
        equal = (values[line] == last).nonzero().flatten()[: k - len(above)]
        order = torch.sort(values[line, above], descending=True, stable=True).indices
        places[line, :k] = torch.cat((above[order], equal))
    return found[:, :k], places[:, :k]
