"""What is said of linkers and models whose files of what people said are gone; see `test_models.py` for models."""

from tempkb.models.again import odd_said
from tempkb.models.linking.known import known_linkers
from tempkb.models.linking.tables import LINKERS
from tempkb.platform.api import open_store
from tempkb.store.said import change_said

ROW = dict.fromkeys(LINKERS.column_names())


def test_of_a_linker_that_was_added_the_file_is_missed_and_of_others_there_need_be_none(home_folder):
    store = open_store()
    added = ROW | {"linker": "mini", "kind": "sentence-encoder", "checkpoint": "org/mini", "hub_revision": "abc"}
    trained = ROW | {"linker": "own", "kind": "bi-encoder"}
    rows = [added, trained, *known_linkers(store.lake)]
    assert odd_said(store, None, rows) == [
        "linker mini: found nothing said of it in linkers/mini.json; expected what was said when it was added. Write it "
        "again: tempkb linker add mini org/mini --revision abc"
    ]
    change_said(store.home.linkers, "mini", lambda said: type(said)({"checkpoint": "org/mini"}, said.asked))
    assert odd_said(store, None, rows) == []
    # One that cannot be read is named by another line.
    (store.home.linkers / "mini.json").write_text("{")
    assert odd_said(store, None, rows) == []
