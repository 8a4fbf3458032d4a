"""Every error tempkb raises on purpose, named by who must act.

    TempkbError
    ├── SourceError     the input is damaged, odd or missing: fetch or name another
    │   └── MissingDumpError  a dump lies neither here nor, whole, in the mirror: wait for it, or name its files
    ├── ContractError   a room was handed rows that break its promise: a bug of ours
    ├── StoredDamageError files of the lake are not as they were written: build them again
    └── SettingsError   a setting, option or name is wrong: change it
        └── DesignError a benchmark's design cannot be meant, or cannot be met: change it

A message says which thing, what was found, what was expected and what to do.
"""


class TempkbError(Exception):
    """Base of all errors that tempkb raises on purpose."""


class SourceError(TempkbError):
    """The input (a dump, an SQL table, a list) is damaged, odd or missing."""


class MissingDumpError(SourceError):
    """A dump lies neither in the home nor, whole, in its mirror."""


class ContractError(TempkbError):
    """Rows break what their table promises; nothing of them was kept."""


class StoredDamageError(TempkbError):
    """A file of the lake is missing, cut or changed since it was written; its partition counts as absent."""


class SettingsError(TempkbError):
    """A setting, an option or a name does not fit; the message names what does."""


class DesignError(SettingsError):
    """A benchmark's design cannot be meant, or the data cannot meet it."""
