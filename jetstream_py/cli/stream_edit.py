"""`jetstream-py stream add`, `edit`, `copy`, `seal`, `purge` and `rm`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click

from jetstream_py.cli import ask, config_file, show
from jetstream_py.cli.connect import Session, connected, run
from jetstream_py.cli.failure import MissingAnswer
from jetstream_py.cli.frame import Command, force_option
from jetstream_py.cli.names import pick_stream, stream_argument, whole
from jetstream_py.cli.stream_options import (
    AT_FIRST,
    DEFAULTS,
    FIELDS,
    apply,
    interview,
    special_options,
)
from jetstream_py.cli.stream_show import print_stream
from jetstream_py.migrate.connection import Json

FILE: Final = click.Path(exists=True, dir_okay=False, path_type=Path)
OUTPUT: Final = click.Path(dir_okay=False, path_type=Path)


@click.command(
    "add",
    cls=Command,
    aliases=("create", "new"),
    examples="""jetstream-py stream add ORDERS --subjects 'orders.>' --max-age 1d
    jetstream-py stream add ORDERS --subjects 'orders.>' --retention work --max-bytes 1G --defaults
    jetstream-py stream add --config orders.json
    jetstream-py stream add BACKUP --mirror ORDERS --output backup.json""",
)
@click.argument("stream", required=False)
@config_file.options([*FIELDS, *AT_FIRST])
@special_options
@click.option("--config", "file", type=FILE, help="JSON file to begin with")
@click.option("--output", type=OUTPUT, help="Write the JSON to a file, make nothing")
@click.option("--defaults", is_flag=True, help="Ask nothing that has a default")
def add(
    stream: str | None,
    file: Path | None,
    output: Path | None,
    defaults: bool,
    **given: Any,
) -> None:
    """Make a stream.

    Options win over the file. On a terminal the rest is asked for, unless there is a file or --defaults.
    """
    config = config_file.read(file) if file else {}
    apply(config, given, (*FIELDS, *AT_FIRST))
    name = stream or config.get("name") or ask.text("Stream name", "STREAM")
    config["name"] = whole(name, "STREAM")
    if not file and not defaults and ask.possible():
        interview(config)
    if not (config.get("subjects") or config.get("mirror") or config.get("sources") or file):
        raise MissingAnswer("a stream needs subjects: give --subjects, --mirror or --source")
    config = {**DEFAULTS, **config}
    if output:
        config_file.write(output, config)
        show.note(f"Wrote {output}; `jetstream-py stream add --config {output}` makes it")
        return
    run(lambda session: create(session, config))


async def create(session: Session, config: Json) -> None:
    show_stream(session, await session.api(f"STREAM.CREATE.{config['name']}", config), "created")


def show_stream(session: Session, info: Json, what: str) -> None:
    if session.json:
        show.data(info)
        return
    show.line(f"Stream {info['config']['name']} was {what}\n")
    print_stream(info)


@click.command(
    "edit",
    cls=Command,
    aliases=("update",),
    examples="""jetstream-py stream edit ORDERS --max-age 2d
    jetstream-py stream edit ORDERS --config orders.json --dry-run
    jetstream-py stream edit ORDERS --subjects 'orders.>' -f""",
)
@stream_argument
@config_file.options(FIELDS)
@special_options
@click.option("--no-mirror", is_flag=True, help="Promote a mirror to a stream of its own")
@click.option("--config", "file", type=FILE, help="JSON file with the new configuration")
@click.option("-i", "--interactive", is_flag=True, help="Change it in $EDITOR")
@click.option("--dry-run", is_flag=True, help="Only show what would change")
@force_option
@connected
async def edit(
    session: Session,
    stream: str | None,
    no_mirror: bool,
    file: Path | None,
    interactive: bool,
    dry_run: bool,
    force: bool,
    **given: Any,
) -> None:
    """Change STREAM: shows the difference and asks.

    Without options it opens $EDITOR on a terminal.
    """
    name = await pick_stream(session, stream)
    old: Json = (await session.api(f"STREAM.INFO.{name}"))["config"]
    new = {**old, **config_file.read(file)} if file else _copy(old)
    changed = apply(new, given, FIELDS) or file is not None
    if no_mirror:
        changed = new.pop("mirror", None) is not None or changed
    if interactive or not changed:
        new = config_file.edited(new)
    if config_file.approve(session, old, new, f"stream {name}", force, dry_run):
        show_stream(session, await session.api(f"STREAM.UPDATE.{name}", new), "updated")


def _copy(config: Json) -> Json:
    return {
        name: dict(value) if isinstance(value, dict) else value for name, value in config.items()
    }


@click.command(
    "copy",
    cls=Command,
    aliases=("cp",),
    examples="jetstream-py stream copy ORDERS ARCHIVE --subjects 'archive.>'",
)
@click.argument("origin", metavar="SOURCE")
@click.argument("destination")
@config_file.options([*FIELDS, *AT_FIRST])
@special_options
@connected
async def copy(session: Session, origin: str, destination: str, **given: Any) -> None:
    """Make a stream like another one, with options for what differs; no messages."""
    name = await pick_stream(session, origin)
    config = (await session.api(f"STREAM.INFO.{name}"))["config"]
    config["name"] = whole(destination, "DESTINATION")
    apply(config, given, (*FIELDS, *AT_FIRST))
    await create(session, config)


@click.command("seal", cls=Command, examples="jetstream-py stream seal ORDERS")
@stream_argument
@force_option
@connected
async def seal(session: Session, stream: str | None, force: bool) -> None:
    """Let STREAM never change again."""
    name = await pick_stream(session, stream)
    config = (await session.api(f"STREAM.INFO.{name}"))["config"]
    ask.confirm(f"Really seal stream {name}? It cannot be taken back.", force)
    info = await session.api(f"STREAM.UPDATE.{name}", {**config, "sealed": True})
    show_stream(session, info, "sealed")


@click.command(
    "purge",
    cls=Command,
    examples="""jetstream-py stream purge ORDERS -f
    jetstream-py stream purge ORDERS --subject orders.old --keep 10 -f""",
)
@stream_argument
@click.option("--subject", help="Only messages of this subject")
@click.option("--seq", type=click.IntRange(1), help="Only those before this sequence")
@click.option("--keep", type=click.IntRange(1), help="All but so many of the newest")
@force_option
@connected
async def purge(
    session: Session,
    stream: str | None,
    subject: str | None,
    seq: int | None,
    keep: int | None,
    force: bool,
) -> None:
    """Remove messages of STREAM."""
    name = await pick_stream(session, stream)
    pairs = {"filter": subject, "seq": seq, "keep": keep}
    body = {field: value for field, value in pairs.items() if value is not None}
    ask.confirm(f"Really purge stream {name}?", force)
    answer = await session.api(f"STREAM.PURGE.{name}", body)
    if session.json:
        show.data(answer)
    else:
        show.line(f"Purged {answer['purged']:,} messages from {name}")


@click.command(
    "rm", cls=Command, aliases=("delete", "del"), examples="jetstream-py stream rm ORDERS -f"
)
@stream_argument
@force_option
@connected
async def remove(session: Session, stream: str | None, force: bool) -> None:
    """Remove STREAM with its messages and consumers."""
    name = await pick_stream(session, stream)
    ask.confirm(f"Really delete stream {name}?", force)
    answer = await session.api(f"STREAM.DELETE.{name}")
    if session.json:
        show.data(answer)
    else:
        show.line(f"Stream {name} was deleted")


VERBS: Final = (add, edit, copy, seal, purge, remove)
