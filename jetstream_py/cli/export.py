"""`jetstream-py export STREAM ... --out DIR`: streams as Parquet files."""

from __future__ import annotations

import argparse
import asyncio
import fnmatch
import re
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from jetstream_py.cli import segments
from jetstream_py.cli.endpoint import Bar, add_server, endpoint_of

if TYPE_CHECKING:
    from jetstream_py.export.run import Bound, Options, Outcome
    from jetstream_py.export.source import Source

DESCRIPTION: Final = """Writes streams as Parquet files, with a manifest beside them:
DIR/<STREAM>/date=YYYY-MM-DD/seg-<first>-<last>.parquet. Run it again: it goes on where it was, after an
interruption as after a year."""
EPILOG: Final = """Messages come from a server (--server, any NATS server), or straight from the store of
one (--store DIR, also while it runs). DIR may be s3://, gs:// or hdfs://.

Exit status: 0 when everything is exported, 1 when it is not, 2 for wrong usage, 3 when a server cannot
be reached or has no JetStream."""

_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        "jetstream-py export",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    made.add_argument("stream", nargs="+", metavar="STREAM", help="may hold * and ?")
    made.add_argument("--out", required=True, metavar="DIR", help="where to; a path or a URI")
    add_server(made)
    store = made.add_argument_group("store")
    store.add_argument("--store", default="", metavar="DIR", help="read this store, no server")
    store.add_argument("--account", default="$G", help="whose streams of the store")
    what = made.add_argument_group("what")
    bound = "sequence, time (2026-01-31T12:00:00Z) or age (90m, 7d)"
    what.add_argument("--since", type=bound_of, metavar="X", help=f"first {bound}")
    what.add_argument("--until", type=bound_of, metavar="X", help=f"last {bound}")
    what.add_argument("--subject", default="", metavar="FILTER", help="only matching messages")
    how = made.add_argument_group("how")
    how.add_argument("--format", choices=("parquet", "delta"), default="parquet")
    how.add_argument("--follow", action="store_true", help="go on with what comes, until stopped")
    how.add_argument("--flush", type=float, default=60.0, metavar="SECONDS", help="of --follow")
    how.add_argument("--new-epoch", action="store_true", help="for streams that were made again")
    return made


def bound_of(text: str) -> Bound:
    """A sequence, a time or an age. Raises `ValueError`."""
    from jetstream_py.export.run import Bound

    if text.isdecimal() and int(text):
        return Bound(seq=int(text))
    if age := re.fullmatch(r"(\d+)([smhd])", text):
        return Bound(time_ns=time.time_ns() - int(age[1]) * _UNITS[age[2]] * 10**9)
    moment = datetime.fromisoformat(text)
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return Bound(time_ns=(since.days * 86_400 + since.seconds) * 10**9 + since.microseconds * 1000)


def main(arguments: list[str]) -> int:
    return segments.run(parser, arguments, _export, show_all)


def show_all(outcomes: list[Outcome]) -> None:
    for outcome in outcomes:
        show(outcome)


def show(outcome: Outcome) -> None:
    for warning in outcome.warnings:
        print(f"{outcome.stream}: {warning}", file=sys.stderr)
    what = f"{outcome.messages:,} messages in {outcome.segments} segments"
    end = f", up to {outcome.last_seq}" if outcome.segments else ""
    print(f"{outcome.stream}: {what}{end} -> {outcome.directory}")


async def _export(given: argparse.Namespace, bar: Bar) -> list[Outcome]:
    if given.store and given.server:
        raise argparse.ArgumentTypeError("take --server or --store, not both")
    from jetstream_py.export.run import Options

    options = Options(
        given.out,
        since=given.since,
        until=given.until,
        subject="" if given.subject == ">" else given.subject,
        format=given.format,
        follow=given.follow,
        flush=given.flush,
        new_epoch=given.new_epoch,
        progress=bar,
    )
    if given.store:
        return await _from_store(given, options)
    from jetstream_py.export.link import open_link
    from jetstream_py.export.server import ServerSource

    link = await open_link(endpoint_of(given))
    try:
        known = await link.pages("STREAM.NAMES", "streams")
        sources = [ServerSource(link, name) for name in _chosen(given.stream, known)]
        return await _all(sources, options)
    finally:
        with suppress(Exception):  # nats-py, of a connection that is lost already
            await link.close()


async def _from_store(given: argparse.Namespace, options: Options) -> list[Outcome]:
    from jetstream_py.export.from_store import StoreFile, StoreSource

    store = StoreFile(given.store)
    try:
        names = _chosen(given.stream, list(store.streams(given.account)))
        return await _all([StoreSource(store, given.account, name) for name in names], options)
    finally:
        store.close()


def _chosen(patterns: list[str], known: list[str]) -> list[str]:
    """Streams by name or pattern; a name that is not known is looked for and complained about later."""
    found: dict[str, None] = {}
    for pattern in patterns:
        matching = [name for name in sorted(known) if fnmatch.fnmatchcase(name, pattern)]
        found.update(dict.fromkeys(matching or [pattern]))
    return list(found)


async def _all(sources: Sequence[Source], options: Options) -> list[Outcome]:
    from jetstream_py.export.run import export

    if not options.follow:
        return [await export(source, options) for source in sources]
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    tasks = [asyncio.ensure_future(export(source, options, stop)) for source in sources]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:  # one has failed: the others end what they have
            task.cancel()
