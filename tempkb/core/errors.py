"""Every error that tempkb raises on purpose, by who must act.

    TempkbError
    ├── SourceError     the input is damaged, odd or missing: fetch or name another
    │   └── MissingDumpError  neither the home nor the mirror has the complete dump: wait for it, or name its files
    ├── ContractError   rows break the promises of their table: a bug of tempkb
    ├── StoredDamageError files of the lake were changed since they were written: build them again
    ├── ModelError      a checkpoint cannot be used as a model of its family: repair it or name another
    │   └── ModelMemoryError  not even one row of a model's input fits into memory: choose another device or number type
    └── SettingsError   a setting, option or name is wrong: change it
        └── DesignError a benchmark's design is contradictory, or the data cannot meet it: change it

Each message says what it is about, what was found, what was expected and what to do.
"""


class TempkbError(Exception):
    """Base of all errors that tempkb raises on purpose."""


class SourceError(TempkbError):
    """The input (a dump, an SQL table, a list) is damaged, odd or missing."""


class MissingDumpError(SourceError):
    """Neither the home nor its mirror has a complete dump of that name."""


class ContractError(TempkbError):
    """Rows break what their table promises; none of them was kept."""


class StoredDamageError(TempkbError):
    """A file of the lake is missing, cut or changed since it was written; its partition counts as absent."""


class ModelError(TempkbError):
    """A checkpoint cannot be loaded, or is not a model of the family that was asked for."""


class ModelMemoryError(ModelError):
    """A single row of a model's input does not fit into the memory of its device."""


class SettingsError(TempkbError):
    """A setting, an option or a name is not allowed; the message names the allowed ones."""


class DesignError(SettingsError):
    """A benchmark's design contradicts itself, or the data cannot meet it."""
