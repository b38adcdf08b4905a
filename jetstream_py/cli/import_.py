"""`jetstream-py import DIR --stream S`: an export's messages into a stream."""

from __future__ import annotations

import argparse
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from jetstream_py.cli import segments
from jetstream_py.cli.endpoint import Bar, add_server, endpoint_of

if TYPE_CHECKING:
    from jetstream_py.export.restore import ImportOutcome

DESCRIPTION: Final = """Publishes the messages of an export to a stream of any NATS server, in their order
and under their subjects. Run it again after an interruption: it goes on where it was, and a second time it
does nothing."""
EPILOG: Final = """Messages get new sequences and times; those they had are in the headers Export-Sequence
and Export-Time.

Exit status: 0 when everything is there, 1 when it is not, 2 for wrong usage, 3 when a server cannot be
reached or has no JetStream."""


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        "jetstream-py import",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    made.add_argument("directory", metavar="DIR", help="of the export; a path or a URI")
    made.add_argument("--stream", required=True, help="where the messages go")
    made.add_argument("--from", default="", dest="source", metavar="STREAM", help="of the export")
    made.add_argument("--create", action="store_true", help="make the stream, as it was")
    made.add_argument("--append", action="store_true", help="behind other messages of the stream")
    add_server(made)
    return made


def main(arguments: list[str]) -> int:
    return segments.run(parser, arguments, _import, show)


def show(outcome: ImportOutcome) -> None:
    before = f", {outcome.before:,} were there" if outcome.before else ""
    print(f"{outcome.stream}: {outcome.messages:,} messages{before}, up to {outcome.last_seq}")


async def _import(given: argparse.Namespace, bar: Bar) -> ImportOutcome:
    from jetstream_py.export.link import open_link
    from jetstream_py.export.restore import ImportOptions, import_stream

    link = await open_link(endpoint_of(given))
    try:
        options = ImportOptions(
            given.directory, given.stream, given.source, given.create, given.append, bar
        )
        return await import_stream(link, options)
    finally:
        with suppress(Exception):  # nats-py, of a connection that is lost already
            await link.close()
