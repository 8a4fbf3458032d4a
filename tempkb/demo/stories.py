"""Trap pages: each has a small history that a careless reader gets wrong.

Numbers are those of the list of what the demo world must contain (revisions,
1 to 9); what each page tests is written beside it.
"""

from datetime import timedelta

from tempkb.demo.model import Clock, Name, Page

DAY = timedelta(days=1)


def write_stories(pages: "Pages", clock: Clock) -> None:
    """Add all trap pages of entries 1 to 9. Needs at least eight quarters."""
    for story in (
        _restored_text_adds_up,
        _edit_war,
        _edit_at_the_cut,
        _two_in_one_second,
        _import_out_of_order,
        _in_two_elements,
        _redirect_becomes_article,
        _article_becomes_redirect,
        _draft_moved_in,
        _moved_out,
        _becomes_disambiguation,
        _silent_move,
        _swapped_titles,
        _deleted_between_dumps,
        _suppressed_between_dumps,
        _merged_item,
        _blank_for_a_week,
        _blank_for_an_interval,
        _hidden_author,
        _second_slot,
        _redirects,
    ):
        story(pages, clock)


class Pages:
    """Makes the pages of stories, numbered one after another.

    Args:
        clock: the world's quarters.
        first_id: number of the first page.
    """

    def __init__(self, clock: Clock, first_id: int) -> None:
        self.made: list[Page] = []
        self._clock, self._next = clock, first_id

    def new(self, story: str, title: str, namespace: int = 0) -> Page:
        """Add a page that has no text yet."""
        page_id = self._next + len(self.made)
        born = self._clock.start(0) - 400 * DAY
        page = Page(page_id, [Name(born, namespace, title)], entity_id=f"Q{9000 + page_id}", story=story)
        self.made.append(page)
        return page


def _text(title: str, line: str) -> str:
    return f"'''{title}''' is a place in Varland. {line}\n\n[[Category:Places of Varland]]"


def _restored_text_adds_up(pages: Pages, clock: Clock) -> None:
    """1: vandalism is current longer than any single spell of the good text, but shorter than all together."""
    page = pages.new("restored", "Harbour Clock")
    good, spoiled, small = (
        _text("Harbour Clock", line) for line in ("It strikes.", "IT IS BROKEN LOL", "It strikes twice.")
    )
    page.edit(clock.start(0), good, "new page")
    page.edit(clock.before(2, 25), spoiled, "", user=None)
    page.edit(clock.before(2, 15), good, "Reverted edits by [[Special:Contributions/192.0.2.7|192.0.2.7]]", user="Ben")
    page.edit(clock.before(2, 8), small, "it does", user="Cem")


def _edit_war(pages: Pages, clock: Clock) -> None:
    """2: the chosen text is current for less than five per cent of the interval."""
    page = pages.new("war", "Border Stone")
    page.edit(clock.start(0), _text("Border Stone", "It stands."), "new page")
    # 39 texts of eighteen hours, and thirty-four hours of the chosen one: 4.7 per cent.
    at = clock.before(3, 30)
    for number in range(40):
        page.edit(at, _text("Border Stone", f"It belongs to side {number}."), "no!", user=("Ben", "Cem")[number % 2])
        at += timedelta(hours=34) if number == 17 else timedelta(hours=17, minutes=35)


def _edit_at_the_cut(pages: Pages, clock: Clock) -> None:
    """3: an edit exactly at a cut is not in the snapshot."""
    page = pages.new("at_the_cut", "Midnight Ferry")
    page.edit(clock.start(0), _text("Midnight Ferry", "It sails at eleven."), "new page")
    page.edit(clock.cut(2), _text("Midnight Ferry", "It sails at twelve."), "new timetable", user="Ben")


def _two_in_one_second(pages: Pages, clock: Clock) -> None:
    """3: of two edits in one second the one with the higher number is current."""
    page = pages.new("one_second", "Twin Mills")
    page.edit(clock.start(0), _text("Twin Mills", "They turn."), "new page")
    when = clock.before(2, 20)
    page.edit(when, _text("Twin Mills", "They turn left."), "left", user="Ben")
    page.edit(when, _text("Twin Mills", "They turn right."), "right", user="Cem")


def _import_out_of_order(pages: Pages, clock: Clock) -> None:
    """3: imported revisions have high numbers and early times, so the file is not in time order."""
    page = pages.new("imported", "Old Lighthouse")
    page.edit(clock.start(2), _text("Old Lighthouse", "It is lit."), "new page")
    for number in range(3):
        when = clock.start(0) + (number + 1) * 9 * DAY
        page.edit(
            when, _text("Old Lighthouse", f"It is stage {number}."), "import", user=None, entered=clock.start(3) + DAY
        )


def _in_two_elements(pages: Pages, clock: Clock) -> None:
    """3: one page exported as two `<page>` elements, far apart."""
    page = pages.new("two_elements", "Long Causeway")
    page.in_two_elements = True
    for number in range(6):
        page.edit(
            clock.start(number) + 5 * DAY, _text("Long Causeway", f"It has {number + 1} arches."), "arch", user="Ben"
        )


def _redirect_becomes_article(pages: Pages, clock: Clock) -> None:
    """4: an article only since the redirect was replaced."""
    page = pages.new("redirect_first", "Salt Museum")
    page.edit(clock.start(0), "#REDIRECT [[Harbour Clock]]", "redirect")
    page.edit(clock.start(4) + 10 * DAY, _text("Salt Museum", "It shows salt."), "an article at last", user="Cem")


def _article_becomes_redirect(pages: Pages, clock: Clock) -> None:
    """4: an article, then a redirect, then the article again: it stays an article since its first text."""
    page = pages.new("redirect_between", "Wool Exchange")
    text = _text("Wool Exchange", "It trades wool.")
    page.edit(clock.start(0), text, "new page")
    page.edit(clock.start(2), "#redirect [[Border Stone#History|there]] {{R from merge}}", "merged", user="Ben")
    page.edit(clock.start(4), text, "no consensus for this", user="Cem")


def _draft_moved_in(pages: Pages, clock: Clock) -> None:
    """5: written as a draft, and in the main namespace only since its move."""
    page = pages.new("draft_in", "Peat Railway", namespace=118)
    page.edit(clock.start(1), _text("Peat Railway", "It runs on peat."), "draft")
    page.edit(clock.start(1) + 20 * DAY, _text("Peat Railway", "It runs over peat."), "typo", user="Ben")
    page.move(clock.start(3) + 7 * DAY, 0, "Peat Railway")


def _moved_out(pages: Pages, clock: Clock) -> None:
    """5: moved out of the main namespace again."""
    page = pages.new("moved_out", "Unfinished Tower")
    page.edit(clock.start(0), _text("Unfinished Tower", "It has no roof."), "new page")
    page.move(clock.start(4) + 3 * DAY, 118, "Unfinished Tower", user="Cem")


def _becomes_disambiguation(pages: Pages, clock: Clock) -> None:
    """6: becomes a disambiguation page later; earlier snapshots must not show this."""
    page = pages.new("disambiguation", "Anvil")
    page.edit(clock.start(0), _text("Anvil", "It rings."), "new page")
    listed = "'''Anvil''' may refer to:\n* [[Harbour Clock]], a sort of one\n* [[Anvil (village)]]\n{{disambiguation}}"
    page.edit(clock.start(5), listed, "too many anvils", user="Ben")


def _silent_move(pages: Pages, clock: Clock) -> None:
    """6: a move that no summary reports, so only today's title is known."""
    page = pages.new("silent_move", "Green Gate")
    page.edit(clock.start(0), _text("Green Gate", "It is green."), "new page")
    page.move(clock.start(3), 0, "Emerald Gate", silent=True)


def _swapped_titles(pages: Pages, clock: Clock) -> None:
    """6: two pages swap titles through a third name."""
    left, right = pages.new("swap_left", "Upper Lock"), pages.new("swap_right", "Lower Lock")
    left.edit(clock.start(0), _text("Upper Lock", "It lifts boats."), "new page")
    right.edit(clock.start(0), _text("Lower Lock", "It lowers boats."), "new page")
    when = clock.start(4) + 11 * DAY
    left.move(when, 0, "Upper Lock (temporary)", user="Ben")
    right.move(when + timedelta(minutes=1), 0, "Upper Lock", user="Ben")
    left.move(when + timedelta(minutes=2), 0, "Lower Lock", user="Ben")


def _deleted_between_dumps(pages: Pages, clock: Clock) -> None:
    """7: in the first dump, but not in the second."""
    page = pages.new("deleted", "Paper Castle")
    page.edit(clock.start(1), _text("Paper Castle", "It burns well."), "new page")
    page.deleted_at = clock.start(len(clock.windows) - 1) + 20 * DAY


def _suppressed_between_dumps(pages: Pages, clock: Clock) -> None:
    """7: a chosen revision whose text is hidden in the second dump."""
    page = pages.new("suppressed", "Quarry Lane")
    page.edit(clock.start(1), _text("Quarry Lane", "It is steep."), "new page")
    edit = page.edit(clock.start(4), _text("Quarry Lane", "It is where a certain person lives."), "more", user="Ben")
    edit.suppressed_from = clock.start(len(clock.windows) - 1) + 20 * DAY
    page.edit(clock.start(6) + DAY, _text("Quarry Lane", "It is very steep."), "less", user="Cem")


def _merged_item(pages: Pages, clock: Clock) -> None:
    """7: an item merged into another between the dumps."""
    page = pages.new("merged_item", "Copper Yard")
    page.edit(clock.start(2), _text("Copper Yard", "It is full of wire."), "new page")
    page.merged_into = (clock.start(len(clock.windows) - 1) + 20 * DAY, "Q9001")


def _blank_for_a_week(pages: Pages, clock: Clock) -> None:
    """8: blanked for a week inside the interval; the text is chosen nevertheless."""
    page = pages.new("blank_week", "Windmill Row")
    text = _text("Windmill Row", "It has nine mills.")
    page.edit(clock.start(0), text, "new page")
    page.edit(clock.before(3, 20), "", "", user=None)
    page.edit(clock.before(3, 13), text, "undo", user="Ben")


def _blank_for_an_interval(pages: Pages, clock: Clock) -> None:
    """8: blank during the whole interval, so the blank text is chosen and flagged. White space counts as blank."""
    page = pages.new("blank_interval", "Empty Square")
    page.edit(clock.start(0), _text("Empty Square", "It is empty."), "new page")
    page.edit(clock.before(3, 40), " \n ", "", user=None)
    page.edit(clock.cut(3) + DAY, _text("Empty Square", "It is empty again."), "undo", user="Cem")


def _hidden_author(pages: Pages, clock: Clock) -> None:
    """8: hidden users count as unknown contributors, and each hidden text as a content of its own."""
    page = pages.new("hidden", "Fog Horn")
    page.edit(clock.start(0), _text("Fog Horn", "It sounds."), "new page")
    page.edit(
        clock.before(2, 28),
        _text("Fog Horn", "secret"),
        "secret",
        hidden_user=True,
        suppressed_from=clock.before(2, 27),
    )
    page.edit(clock.before(2, 5), _text("Fog Horn", "It sounds."), "", user="Ben")


def _second_slot(pages: Pages, clock: Clock) -> None:
    """8: a media page with a second slot, whose revision hash is not that of its text."""
    page = pages.new("slots", "Clock at dusk.jpg", namespace=6)
    for number in range(3):
        slot = '{"type":"mediainfo","id":"M1","labels":{"n":' + str(number) + "}}"
        page.edit(clock.start(number) + DAY, "== Summary ==\nThe [[Harbour Clock]] at dusk.", "label", extra_slot=slot)


def _redirects(pages: Pages, clock: Clock) -> None:
    """Plain redirects, in English and in another language, to a page and to a section of another page."""
    for title, text in (
        ("The Clock", "#REDIRECT [[Harbour Clock]]"),
        ("Clock of the harbour", "#WEITERLEITUNG [[Harbour_Clock#Bells]]"),
        ("Clock pictures", "#REDIRECT [[:Category:Places of Varland]]"),
    ):
        pages.new("", title).edit(clock.start(0) + 2 * DAY, text, "")
