"""What tests of exports share: the library that loads them, without a network."""

import pytest


@pytest.fixture
def loaded(tmp_path, monkeypatch):
    """Returns all rows of an export as `datasets.load_dataset` gives them: by config and split."""
    import datasets

    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)

    def load(folder):
        default = datasets.load_dataset(str(folder), cache_dir=str(tmp_path / "cache"))
        found = {
            name: datasets.load_dataset(str(folder), name, cache_dir=str(tmp_path / "cache"))
            for name in datasets.get_dataset_config_names(str(folder))
        }
        first = next(iter(found.values()))
        assert {split: rows.to_list() for split, rows in default.items()} == {
            split: rows.to_list() for split, rows in first.items()
        }
        return {name: {split: rows.to_list() for split, rows in one.items()} for name, one in found.items()}

    return load


@pytest.fixture
def counted():
    """Returns the numbers of rows by config and split, splits in their order."""
    return lambda found: {name: [(split, len(rows)) for split, rows in one.items()] for name, one in found.items()}
