"""`jetstream-py migrate --from URL --to URL ...`: streams, buckets and consumers to another server."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from jetstream_py.migrate import Endpoint, Options, Outcome

USAGE_ERROR: Final = 2
NO_SERVER: Final = 3
INTERRUPTED: Final = 130
PROGRESS_TIME: Final = 0.2  # seconds between two looks of the line on a terminal

DESCRIPTION: Final = """Brings streams, their consumers' positions, key-value and object buckets from one NATS
server to another. Run it again after an interruption: it goes on where it was. The source is only read."""
EPILOG: Final = """URLs may hold user:password, a token or an nkey's seed before the @.

Exit status: 0 when everything is there and verified, 1 when a stream is not, 2 for wrong usage, 3 when
a server cannot be reached or has no JetStream."""


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        "jetstream-py migrate",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    for side, place in (("from", "source"), ("to", "target")):
        group = made.add_argument_group(place)
        group.add_argument(f"--{side}", required=True, metavar="URL", dest=f"{place}_url")
        for name, text in (
            ("creds", "file with a user's JWT and seed"),
            ("ca", "file with the authorities to trust; makes the connection use TLS"),
            ("cert", "file with our certificate"),
            ("key", "file with its key"),
            ("domain", "JetStream domain"),
        ):
            group.add_argument(f"--{side}-{name}", default="", help=text, dest=f"{place}_{name}")
    what = made.add_argument_group("what to migrate")
    what.add_argument("--all", action="store_true", help="everything")
    what.add_argument(
        "--stream", action="append", default=[], metavar="NAME", help="may hold * and ?"
    )
    what.add_argument("--kv", action="append", default=[], metavar="BUCKET")
    what.add_argument("--object", action="append", default=[], metavar="BUCKET")
    what.add_argument("--rename", action="append", default=[], metavar="OLD=NEW", help="of streams")
    what.add_argument("--consumers", action=argparse.BooleanOptionalAction, default=True)
    how = made.add_argument_group("how")
    how.add_argument("--method", choices=("auto", "backup", "rebuild", "copy"), default="auto")
    how.add_argument("--follow", action="store_true", help="until the source is quiet for a second")
    how.add_argument("--verify", action=argparse.BooleanOptionalAction, default=True)
    how.add_argument("--replicas", type=int, default=0, metavar="N", help="at the target")
    how.add_argument(
        "--drop-unsupported", action="store_true", help="fields the target does not know"
    )
    how.add_argument("--dry-run", action="store_true", help="say what would be done")
    how.add_argument("--json", action="store_true", help="report for programs")
    return made


def main(arguments: list[str]) -> int:
    made = parser()
    try:
        given = made.parse_args(arguments)
    except SystemExit as end:
        return USAGE_ERROR if end.code else 0
    try:
        from jetstream_py.migrate import ConnectError, MigrateError, migrate
    except ModuleNotFoundError as error:
        if error.name != "nats":
            raise
        return _complain("needs nats-py: pip install 'jetstream-py[client]'", NO_SERVER)
    line = Line(sys.stderr.isatty())
    try:
        options = options_of(given, line)
    except ValueError as error:
        return _complain(str(error), USAGE_ERROR)
    try:
        outcomes = asyncio.run(migrate(options))
    except ConnectError as error:
        return _complain(str(error), NO_SERVER)
    except MigrateError as error:
        return _complain(str(error), 1)
    except KeyboardInterrupt:
        return _complain("interrupted; run it again to go on", INTERRUPTED)
    finally:
        line.clear()
    show(outcomes, given.json)
    return 0 if all(outcome.fine for outcome in outcomes) else 1


def _complain(text: str, status: int) -> int:
    print(f"jetstream-py migrate: {text}", file=sys.stderr)
    return status


def options_of(given: argparse.Namespace, progress: Line) -> Options:
    """Raises `ValueError` for what argparse cannot see."""
    from jetstream_py.migrate import Options

    streams = ["*"] if given.all else [*given.stream]
    streams += [f"KV_{bucket}" for bucket in given.kv] + [
        f"OBJ_{bucket}" for bucket in given.object
    ]
    if not streams:
        raise ValueError("say what to migrate: --all, --stream, --kv or --object")
    renames = {}
    for text in given.rename:
        old, equals, new = text.partition("=")
        if not (old and equals and new):
            raise ValueError(f"--rename takes OLD=NEW, not {text!r}")
        renames[old] = new
    return Options(
        endpoint_of(given, "source"),
        endpoint_of(given, "target"),
        tuple(streams),
        renames=renames,
        method=given.method,
        consumers=given.consumers,
        verify=given.verify,
        follow=given.follow,
        dry_run=given.dry_run,
        drop_unsupported=given.drop_unsupported,
        replicas=given.replicas,
        progress=progress,
    )


def endpoint_of(given: argparse.Namespace, side: str) -> Endpoint:
    from jetstream_py.migrate import Endpoint

    fields = ("url", "creds", "ca", "cert", "key", "domain")
    return Endpoint(*(getattr(given, f"{side}_{name}") for name in fields))


def show(outcomes: list[Outcome], as_json: bool) -> None:
    from jetstream_py.migrate.report import table

    if as_json:
        print(json.dumps({"streams": [outcome.json() for outcome in outcomes]}, indent=2))
    else:
        print(table(outcomes))


class Line:
    """How far it is, on a terminal, on one line."""

    def __init__(self, terminal: bool) -> None:
        self._terminal = terminal
        self._shown = 0.0

    def __call__(self, step: str, stream: str, done: int, total: int) -> None:
        now = time.monotonic()
        if self._terminal and now - self._shown >= PROGRESS_TIME:
            self._shown = now
            of = f" of {total:,}" if total else ""
            print(f"\r\x1b[K{stream}: {step} {done:,}{of}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        if self._terminal and self._shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
