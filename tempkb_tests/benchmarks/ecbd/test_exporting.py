"""Maskings of a definition in the released layout of the follow-up paper."""

from tempkb.benchmarks.ecbd.exporting import maskings


def test_ten_maskings_of_a_definition_each_once():
    definition = "The Ferry is a wooden boat (of oak) that crosses the Sound at night."
    found = maskings(definition, 7, 12)
    assert len(found) == 10
    assert len({masked for masked, _ in found}) == 10
    assert all(masked.replace("<extra_id_0>", answer) == definition for masked, answer in found)
    assert all(1 <= len(answer.split()) <= 5 for _, answer in found)
    assert maskings(definition, 7, 12) == found
    assert maskings(definition, 8, 12) != found
    assert len(maskings("It is.", 7, 12)) == 3  # It, is, It is
    assert maskings("...", 7, 12) == []
