"""`jetstream-py stream backup` and `restore`: folders as the nats command writes and reads them.

A folder holds `backup.json` (configuration and state) and `stream.tar.s2` (the archive). The first is
written last, so a folder without it is a backup that was cut off.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Final

import click
from nats.aio.msg import Msg

from jetstream_py.cli import config_file, show, units
from jetstream_py.cli.connect import Session, connected
from jetstream_py.cli.failure import Failure
from jetstream_py.cli.frame import Command
from jetstream_py.cli.message import status
from jetstream_py.cli.names import pick_stream
from jetstream_py.cli.stream_edit import FILE, show_stream
from jetstream_py.migrate.archives import CHUNK, Restore
from jetstream_py.migrate.connection import Json

ARCHIVE: Final = "stream.tar.s2"
ABOUT: Final = "backup.json"


@click.command("backup", cls=Command, examples="jetstream-py stream backup ORDERS ./orders-backup")
@click.argument("stream")
@click.argument("target", type=click.Path(file_okay=False, path_type=Path))
@click.option("--consumers/--no-consumers", default=True, help="With the consumers")
@click.option("--check", is_flag=True, help="Let the server check the messages first")
@connected
async def backup(session: Session, stream: str, target: Path, consumers: bool, check: bool) -> None:
    """Write a backup of STREAM to the folder TARGET."""
    name = await pick_stream(session, stream)
    _make_folder(target)
    chunks: asyncio.Queue[Msg] = asyncio.Queue()

    async def arrived(msg: Msg) -> None:
        chunks.put_nowait(msg)

    inbox = f"{session.new_inbox()}.snapshot"
    await session.listen(inbox, arrived)
    body = {
        "deliver_subject": inbox,
        "no_consumers": not consumers,
        "jsck": check,
        "chunk_size": CHUNK,
    }
    about = await session.api(f"STREAM.SNAPSHOT.{name}", body)
    written = await _receive(session, chunks, target / ARCHIVE, about["state"]["bytes"])
    config_file.write(target / ABOUT, {"config": about["config"], "state": about["state"]})
    if session.json:
        show.data({"stream": name, "bytes": written, "state": about["state"]})
    else:
        state = about["state"]
        stored = f"{state['messages']:,} messages of {name} ({units.size(state['bytes'])})"
        show.line(f"Wrote {stored} to {target}")


def _make_folder(target: Path) -> None:
    if (target / ABOUT).exists():
        raise Failure(f"{target} has a backup already", "choose another folder")
    target.mkdir(mode=0o700, parents=True, exist_ok=True)


async def _receive(session: Session, chunks: asyncio.Queue[Msg], file: Path, expected: int) -> int:
    written = 0
    with file.open("wb") as out, show.progress("Backup", expected, "bytes") as advance:
        while (chunk := await session.until(chunks.get(), "the next chunk")).data:
            out.write(chunk.data)
            written += len(chunk.data)
            advance(written)
            if chunk.reply:
                await session.publish(chunk.reply)
    code = status(chunk)
    if code not in ("", "204"):
        raise Failure(f"the backup was cut off by the server ({code})")
    return written


@click.command(
    "restore",
    cls=Command,
    examples="""jetstream-py stream restore ./orders-backup
    jetstream-py stream restore ./orders-backup --config orders-with-one-replica.json""",
)
@click.argument("source", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--config", "file", type=FILE, help="JSON file with another configuration")
@click.option("--replicas", type=click.IntRange(1), help="Another number of replicas")
@connected
async def restore(session: Session, source: Path, file: Path | None, replicas: int | None) -> None:
    """Make a stream from the backup in the folder SOURCE."""
    about = _about(source)
    config = config_file.read(file) if file else about["config"]
    if replicas:
        config["num_replicas"] = replicas
    archive = source / ARCHIVE
    sending = Restore(session, config["name"])
    await sending.begin(config, about["state"])
    try:
        total = archive.stat().st_size
        with archive.open("rb") as data, show.progress("Restore", total, "bytes") as advance:
            while chunk := data.read(CHUNK):
                await sending.send(chunk)
                advance(sending.sent)
        show_stream(session, await sending.finish(), "restored")
    finally:
        sending.abandon()


def _about(source: Path) -> Json:
    try:
        found: Json = json.loads((source / ABOUT).read_text())
        if not (isinstance(found["config"], dict) and isinstance(found["state"], dict)):
            raise ValueError("no configuration and state")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Failure(f"{source} holds no whole backup: {error}") from None
    if not (source / ARCHIVE).is_file():
        raise Failure(f"{source} holds no whole backup: {ARCHIVE} is missing")
    return found


VERBS: Final = (backup, restore)
