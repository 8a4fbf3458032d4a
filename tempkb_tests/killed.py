"""What stands for a kill within a process."""


class KilledError(BaseException):
    """The end of a process: nothing of it cleans up behind itself."""
