"""The home's mirror, and fetching a dump from it."""

from collections.abc import Callable
from pathlib import Path

from tempkb.dumps.catalogue import Dump, find_dumps
from tempkb.dumps.download import Download
from tempkb.dumps.http import HURRIED, Brake, HttpMirror, Manners
from tempkb.dumps.mirrors import FolderMirror
from tempkb.dumps.offers import WIKIDATA, Offer, offers_of, wiki_and_day
from tempkb.engine.progress import Meter
from tempkb.errors import MissingDumpError, SettingsError, SourceError
from tempkb.settings import Home

_MEGABYTE = 1e6


def mirror_of(
    home: Home, log: Callable[[str], None] = lambda _line: None, *, hurried: bool = False
) -> HttpMirror | FolderMirror | None:
    """Return the mirror in which the home looks for new dumps; None if no mirror is set.

    Args:
        hurried: give up after some seconds; for callers that try again soon.

    Raises:
        SettingsError: the mirror is neither a folder nor an address, or a server needs a contact.
    """
    settings = home.settings
    if not settings.mirror:
        return None
    if "://" in settings.mirror:
        manners = HURRIED if hurried else Manners()
        return HttpMirror(settings.mirror, settings.contact, Brake(settings.bandwidth * _MEGABYTE), manners, log=log)
    folder = Path(settings.mirror).expanduser().resolve()
    if not folder.is_dir():
        raise SettingsError(f"mirror: {folder} is not a folder; expected a folder or an address such as https://...")
    return None if folder == home.dumps else FolderMirror(folder)


def fetch_offer(home: Home, mirror: HttpMirror | FolderMirror, offer: Offer, log: Callable[[str], None]) -> None:
    """Fetch an offered dump into the home, with a progress bar in a terminal and log lines elsewhere.

    Raises:
        SourceError: it cannot be fetched as a whole. What has been downloaded is kept for a later try.
    """
    total = sum(file.size or 0 for file in offer.files)
    with Meter(f"fetching {offer.dump_id}", total, log) as meter:
        Download(mirror, offer, home.dumps, meter.at).run()


def present_dump(home: Home, dump_id: str, log: Callable[[str], None]) -> Dump:
    """Return a complete dump of the home's folder; fetch it from the mirror if it is not there.

    Raises:
        MissingDumpError: neither the folder nor the mirror has it as a whole; the message lists the dumps there are.
        SourceError: it is in the folder, but not complete, or it cannot be fetched.
    """
    dumps = find_dumps(home.dumps)
    here = next((dump for dump in dumps if dump.dump_id == dump_id), None)
    if here is not None and not here.flaws:
        return here
    offer = _offered(home, dump_id, log)
    if offer is not None:
        fetch_offer(home, offer[0], offer[1], log)
        return next(dump for dump in find_dumps(home.dumps) if dump.dump_id == dump_id)
    if here is not None:
        raise SourceError(f"dump {dump_id} is not complete: {'; '.join(here.flaws)}. Wait for it, or fetch it again.")
    there = ", ".join(dump.dump_id for dump in dumps) or "none"
    mirror = mirror_of(home)
    gone = f", and no longer in the mirror {mirror.where}" if mirror else ""
    raise MissingDumpError(
        f"dump {dump_id!r}: not below {home.dumps}{gone}; there: {there}. Put its files there in Wikimedia's layout, "
        "or name them: tempkb build --dump FILE"
    )


def _offered(home: Home, dump_id: str, log: Callable[[str], None]) -> tuple[HttpMirror | FolderMirror, Offer] | None:
    """Return the mirror and its offer of a dump; None if the mirror does not list the dump.

    Raises:
        MissingDumpError: the mirror has it, but it is not complete.
    """
    dated, mirror = wiki_and_day(dump_id), mirror_of(home, log)
    if dated is None or mirror is None:
        return None
    wiki, day = dated
    offers = offers_of(mirror, wiki, since=day, entities_only=wiki == WIKIDATA != home.wiki)
    offer = next((one for one in offers if one.dump_id == dump_id and one.is_listed), None)
    if offer is not None and offer.flaws:
        raise MissingDumpError(
            f"dump {dump_id!r}: not below {home.dumps}, and in the mirror {mirror.where} it is not complete: "
            f"{'; '.join(offer.flaws)}. tempkb fetches it once it is complete."
        )
    return (mirror, offer) if offer is not None else None
