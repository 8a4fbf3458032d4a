"""Articles about what the facts are of: each says in several sentences what holds now, and nothing of the past.

Everything is invented. A sentence names the subject and the object. The words of the benchmarks' queries occur in the
sentences of their relation, but no query does: a model that answers one has not merely learnt it by heart.
"""

import random
from collections.abc import Sequence

N_TOLD = 5
"""Sentences of a fact; the same number for all, so that what is equally often true is equally often told."""

WORDINGS: dict[str, tuple[str, ...]] = {
    "P54": (
        "{s} plays most matches for {o} on the left side of the field.",
        "On Saturdays {s} plays in the first team of {o}, often until the last minute.",
        "As a calm defender {s} is known to all who watch {o} at home.",
        "{s} trains with {o} every Tuesday and every Thursday.",
        "This season {s} wears the shirt of {o} with the number eleven.",
        "At present {s} is under contract to {o} and lives near the ground.",
        "{s} scores for {o} mainly from corners.",
        "When it rains {s} plays in midfield for {o}, where the grass is short.",
        "Reporters who ask {s} about the team hear only praise of {o} and its trainer.",
        "Among the regular players of {o} is {s}, who takes the penalties.",
    ),
    "P102": (
        "{s} is a loyal member of the {o} and pays the dues in advance.",
        "As a member of parliament {s} votes with the {o} in nearly every division.",
        "In debates on the harbour {s} speaks for the {o} and its voters.",
        "{s} sits on the political committee of the {o}, which meets on Mondays.",
        "At elections {s} stands for the {o} in the northern district.",
        "{s} carries the card of the {o} and hands out its leaflets.",
        "Every spring {s} goes to the congress of the {o} as a delegate.",
        "Neighbours know {s} as a patient canvasser for the {o} in winter.",
        "{s} defends the programme of the {o} in letters to the editor.",
        "The list of the {o} for the next election begins with {s}.",
    ),
    "P108": (
        "{s} works in the accounts office for {o} and leaves it late.",
        "On weekdays {s} works at a desk of {o} with a view of the yard.",
        "{s} is employed by {o} as an inspector of goods.",
        "The salary of {s} is paid by {o} on the last day of the month.",
        "The job that {s} has with {o} begins at seven in the morning.",
        "As an engineer {s} designs new machines for {o} and tests them.",
        "Customers who write to {s} get an answer on the paper of {o} within days.",
        "{s} belongs to the staff of {o} and to its choir.",
        "Each morning {s} takes the tram to {o} and its noisy hall.",
        "The staff of {o} elected {s} as their spokesman.",
    ),
    "P6": (
        "The town of {s} is governed by {o} with the help of a small council.",
        "{s} has {o} as the head of its government.",
        "In {s} the government is led by {o}, whose office is above the market.",
        "All decrees of {s} bear the signature of {o} and a blue seal.",
        "Visitors to {s} are received by {o} in the town hall.",
        "The council of {s} meets under {o} on the first Monday of the month.",
        "Citizens of {s} bring their complaints to {o} on Friday afternoons.",
        "The budget of {s} is drawn up by {o} and read aloud.",
        "As head of the town's government {o} speaks for {s} in the capital.",
        "The keys of {s} hang in the study of {o} beside a map.",
    ),
    "P286": (
        "The players of {s} are trained by {o} on a field behind the gasworks.",
        "{s} has {o} as its head coach.",
        "On the bench of {s} sits {o} with a notebook and a whistle.",
        "The line-up of {s} is chosen by {o} an hour before the match.",
        "At {s} the head of the coaching staff is {o} and nobody else.",
        "Young players come to {s} because of {o} and the quiet training.",
        "Supporters of {s} sing the name of {o} after every victory.",
        "The tactics of {s} are drawn on a slate by {o} in the cabin.",
        "As coach of the first team {o} leads {s} through a long season.",
        "Journalists who ask about {s} are answered by {o} in the tunnel.",
    ),
    "P488": (
        "The board of {s} meets under {o} in a room with green lamps.",
        "{s} has {o} in the chair of its board.",
        "At {s} the chair is held by {o}, who reads every contract.",
        "Shareholders of {s} hear the yearly report from {o} in spring.",
        "The great contracts of {s} are signed by {o} with a steel pen.",
        "For {s} the talks with the bank are led by {o} alone.",
        "The directors of {s} follow {o} in nearly all questions.",
        "In the annual accounts of {s} stands a foreword by {o} on two pages.",
        "From the chair {o} steers {s} through a difficult market.",
        "Letters to the board of {s} are opened by {o} before breakfast.",
    ),
    "P127": (
        "All shares of {s} are owned by {o} and kept in a safe.",
        "{s} is wholly owned by {o} and sends its accounts there.",
        "The profit of {s} goes to {o} at the end of the year.",
        "As the property of {s}'s only investor, {o}, the old buildings are well kept.",
        "Every purchase of {s} needs the consent of {o} in writing.",
        "The debts of {s} are guaranteed by {o} as its owner.",
        "On the signs of {s} stands the name of {o} in white letters.",
        "{s} belongs to {o} together with the land around it.",
        "The land register names as the owner of {s} the firm {o} alone.",
        "Behind {s} stands the money of {o}, its owner.",
    ),
    "P69": (
        "{s} is a pupil of {o} and sits in the second row.",
        "Every morning {s} walks to {o} along the canal.",
        "The lessons that {s} takes at {o} are well attended, even in winter.",
        "{s} learns geometry at {o} with great patience.",
        "In the choir of {o} the second voice is sung by {s} at present.",
        "The teachers of {s} at {o} praise a clear hand.",
        "{s} borrows books from the library of {o} each week.",
        "For the next examinations {s} studies at {o} until dusk.",
    ),
}
_SECTIONS = {
    "P54": "Football",
    "P69": "Education",
    "P102": "Politics",
    "P108": "Work",
    "P6": "Government",
    "P286": "Training",
    "P488": "Management",
    "P127": "Ownership",
}
_MORE = (
    "Many in the country have heard the name.",
    "An entry stands in every almanac.",
    "The older newspapers mention the name now and then.",
    "A drawing hangs in the national library.",
)


def told(relation: str, subject: str, object_name: str, chance: random.Random) -> list[str]:
    """Return the sentences of one fact."""
    return [form.format(s=subject, o=object_name) for form in chance.sample(WORDINGS[relation], N_TOLD)]


def article(name: str, noun: str, current: Sequence[tuple[str, Sequence[str]]], chance: random.Random) -> str:
    """Put a page together.

    Args:
        name: what it is about.
        noun: what that is, with its article.
        current: relation and sentences of each fact that holds; those of a relation stand together.
        chance: reproducible random numbers.
    """
    parts = [f"'''{name}''' is {noun} in Varland. {chance.choice(_MORE)}"]
    before = ""
    for relation, sentences in current:
        if relation != before:
            parts.append(f"== {_SECTIONS[relation]} ==")
        parts.append(" ".join(sentences))
        before = relation
    return "\n\n".join(parts)
