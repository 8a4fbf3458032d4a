"""By which draws are mixed, written again."""


def splitmix(number):
    """The finaliser of splitmix64, on whole numbers."""
    mask = (1 << 64) - 1
    number = (number ^ (number >> 30)) * 0xBF58476D1CE4E5B9 & mask
    number = (number ^ (number >> 27)) * 0x94D049BB133111EB & mask
    return number ^ (number >> 31)
