"""Declares the room of Wikidata."""

from tempkb.room import Room
from tempkb.wikidata.tables import TABLES
from tempkb.wikidata.views import VIEWS

ROOM = Room("wikidata", TABLES, VIEWS, "tempkb.wikidata.steps")
