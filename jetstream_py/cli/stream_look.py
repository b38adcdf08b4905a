"""`jetstream-py stream ls`, `info` and the other verbs that only look."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

import click

from jetstream_py.cli import show, units
from jetstream_py.cli.connect import Session, connected
from jetstream_py.cli.failure import Failure
from jetstream_py.cli.frame import DURATION, Command
from jetstream_py.cli.names import SYSTEM, pick_stream, stream_argument, stream_infos
from jetstream_py.cli.stream_show import print_stream, state_facts, word
from jetstream_py.migrate.connection import Json


def shown(infos: list[Json], every: bool) -> list[Json]:
    """Without those under buckets, unless all are wanted."""
    return [info for info in infos if every or not info["config"]["name"].startswith(SYSTEM)]


@click.command(
    "ls",
    cls=Command,
    aliases=("list", "l"),
    examples="""jetstream-py stream ls
    jetstream-py stream ls --subject orders.new
    jetstream-py stream ls --names""",
)
@click.option("--subject", default="", help="Streams that may hold this subject")
@click.option("-n", "--names", is_flag=True, help="Only names")
@click.option("-a", "--all", "every", is_flag=True, help="Buckets' streams, too")
@connected
async def list_streams(session: Session, subject: str, names: bool, every: bool) -> None:
    """List streams."""
    infos = shown(await stream_infos(session, subject), every)
    found = [info["config"]["name"] for info in infos]
    if session.json:
        show.data(found if names else infos)
    elif names:
        for name in found:
            show.line(name)
    elif not infos:
        show.note("No streams; `jetstream-py stream add` makes one")
    else:
        columns = ("Name", "Description", "Created", "Messages", "Size", "Last Message")
        rows = [
            (
                info["config"]["name"],
                info["config"].get("description", ""),
                units.stamp(info["created"]),
                units.count(info["state"]["messages"]),
                units.size(info["state"]["bytes"]),
                units.since(info["state"]["last_ts"]) if info["state"]["last_seq"] else "never",
            )
            for info in infos
        ]
        show.table("Streams", columns, rows, right=("Messages", "Size"))


@click.command(
    "info", cls=Command, aliases=("nfo", "i"), examples="jetstream-py stream info ORDERS"
)
@stream_argument
@connected
async def info(session: Session, stream: str | None) -> None:
    """Show the configuration and state of STREAM."""
    found = await session.api(f"STREAM.INFO.{await pick_stream(session, stream)}")
    if session.json:
        show.data(found)
    else:
        print_stream(found)


@click.command("state", cls=Command, examples="jetstream-py stream state ORDERS --json")
@stream_argument
@connected
async def state(session: Session, stream: str | None) -> None:
    """Show the state of STREAM alone."""
    found = await session.api(f"STREAM.INFO.{await pick_stream(session, stream)}")
    if session.json:
        show.data(found["state"])
    else:
        show.facts(
            f"State of Stream {found['config']['name']}", [("", state_facts(found["state"]))]
        )


@click.command(
    "subjects",
    cls=Command,
    aliases=("subj",),
    examples="jetstream-py stream subjects ORDERS 'orders.>'",
)
@stream_argument
@click.argument("subject", default=">", metavar="[FILTER]")
@click.option("-n", "--names", is_flag=True, help="Only subjects")
@connected
async def subjects(session: Session, stream: str | None, subject: str, names: bool) -> None:
    """Show the subjects in STREAM and how many messages they have."""
    name = await pick_stream(session, stream)
    counts: dict[str, int] = {}
    while True:
        body = {"subjects_filter": subject, "offset": len(counts)}
        answer = await session.api(f"STREAM.INFO.{name}", body)
        found = answer["state"].get("subjects") or {}
        counts |= found
        if not found or len(counts) >= answer.get("total", 0):
            break
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    if session.json:
        show.data(sorted(counts) if names else counts)
    elif names:
        for text in sorted(counts):
            show.line(show.safe(text))
    elif not ordered:
        show.note(f"No message in {name} has a subject like {subject}")
    else:
        rows = [(text, units.count(count)) for text, count in ordered]
        show.table(f"{len(rows)} Subjects in {name}", ("Subject", "Count"), rows, right=("Count",))


@click.command("report", cls=Command, examples="jetstream-py stream report --all")
@click.option("-a", "--all", "every", is_flag=True, help="Buckets' streams, too")
@connected
async def report(session: Session, every: bool) -> None:
    """Compare streams: messages, bytes, consumers, mirrors and sources."""
    infos = shown(await stream_infos(session), every)
    infos.sort(key=lambda info: -int(info["state"]["bytes"]))
    if session.json:
        show.data(infos)
        return
    columns = (
        "Stream",
        "Storage",
        "Retention",
        "Consumers",
        "Messages",
        "Bytes",
        "Deleted",
        "Origins",
    )
    rows = [
        (
            info["config"]["name"],
            word(info["config"]["storage"]),
            word(info["config"]["retention"]),
            units.count(info["state"]["consumer_count"]),
            units.count(info["state"]["messages"]),
            units.size(info["state"]["bytes"]),
            units.count(info["state"].get("num_deleted", 0)),
            origins(info),
        )
        for info in infos
    ]
    show.table("Stream Report", columns, rows, right=columns[3:7])


def origins(info: Json) -> str:
    found = [info["mirror"]] if info.get("mirror") else info.get("sources") or []
    return ", ".join(f"{origin['name']} (lag {origin.get('lag', 0):,})" for origin in found)


@click.command(
    "find",
    cls=Command,
    aliases=("query",),
    examples="""jetstream-py stream find --empty --created 1d
    jetstream-py stream find '^ORDERS' --subject 'orders.*' --consumers 1""",
)
@click.argument("pattern", default="", metavar="[REGEX]")
@click.option("--subject", default="", help="May hold this subject")
@click.option("--empty", is_flag=True, help="Without messages")
@click.option("--idle", type=DURATION, help="Without a new message for so long")
@click.option("--created", type=DURATION, help="Older than this")
@click.option("--consumers", type=click.IntRange(0), help="With no more consumers than this")
@click.option("--invert", is_flag=True, help="Those that do not match")
@click.option("-n", "--names", is_flag=True, help="Only names")
@connected
async def find(
    session: Session,
    pattern: str,
    subject: str,
    empty: bool,
    idle: int | None,
    created: int | None,
    consumers: int | None,
    invert: bool,
    names: bool,
) -> None:
    """Find streams whose name matches REGEX and that meet all conditions."""
    try:
        named = re.compile(pattern)
    except re.error as error:
        raise click.BadParameter(f"{pattern!r}: {error}", param_hint="REGEX") from None
    holds = {info["config"]["name"] for info in await stream_infos(session, subject)}

    def matches(info: Json) -> bool:
        state = info["state"]
        return (
            bool(named.search(info["config"]["name"]))
            and info["config"]["name"] in holds
            and not (empty and state["messages"])
            and (idle is None or age(state["last_ts"], info["created"]) >= idle)
            and (created is None or age(info["created"], "") >= created)
            and (consumers is None or state["consumer_count"] <= consumers)
        )

    found = [info for info in await stream_infos(session) if matches(info) is not invert]
    if not found:
        raise Failure("no stream matches")
    if session.json:
        show.data([info["config"]["name"] for info in found] if names else found)
        return
    for info in found:
        state = info["state"]
        more = "" if names else f"  {state['messages']:,} messages, {units.size(state['bytes'])}"
        show.line(f"{info['config']['name']}{more}")


def age(stamp: str, otherwise: str) -> int:
    """Nanoseconds since a server's time; since another one where it has none."""
    when = units.parse_stamp(stamp)
    if when is None or when.year <= 1970:
        when = units.parse_stamp(otherwise)
    assert when is not None
    return (datetime.now(UTC) - when) // timedelta(microseconds=1) * 1000


VERBS: Final = (list_streams, info, state, subjects, report, find)
