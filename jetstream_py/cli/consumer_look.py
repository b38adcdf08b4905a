"""`jetstream-py consumer ls`, `info` and `report`."""

from __future__ import annotations

from typing import Final

import click

from jetstream_py.cli import show, units
from jetstream_py.cli.connect import Session, connected
from jetstream_py.cli.consumer_show import print_consumer
from jetstream_py.cli.frame import Command
from jetstream_py.cli.names import (
    consumer_arguments,
    consumer_infos,
    pick_consumer,
    pick_stream,
    stream_argument,
)
from jetstream_py.cli.stream_show import word
from jetstream_py.migrate.connection import Json


@click.command("ls", cls=Command, aliases=("list",), examples="jetstream-py consumer ls ORDERS")
@stream_argument
@click.option("-n", "--names", is_flag=True, help="Only names")
@connected
async def list_consumers(session: Session, stream: str | None, names: bool) -> None:
    """List the consumers of STREAM."""
    target = await pick_stream(session, stream)
    infos = await consumer_infos(session, target)
    if session.json:
        show.data([info["name"] for info in infos] if names else infos)
    elif names:
        for info in infos:
            show.line(info["name"])
    elif not infos:
        show.note(f"{target} has no consumers; `jetstream-py consumer add {target}` makes one")
    else:
        columns = ("Name", "Description", "Created", "Ack Pending", "Unprocessed", "Last Delivery")
        rows = [
            (
                info["name"],
                info["config"].get("description", ""),
                units.stamp(info["created"]),
                units.count(info["num_ack_pending"]),
                units.count(info["num_pending"]),
                units.since(info["delivered"].get("last_active", "")),
            )
            for info in infos
        ]
        show.table(f"Consumers of {target}", columns, rows, right=columns[3:5])


@click.command(
    "info", cls=Command, aliases=("nfo", "i"), examples="jetstream-py consumer info ORDERS WORKER"
)
@consumer_arguments
@connected
async def info(session: Session, stream: str | None, consumer: str | None) -> None:
    """Show the configuration and state of CONSUMER of STREAM."""
    target = await pick_stream(session, stream)
    name = await pick_consumer(session, target, consumer)
    found = await session.api(f"CONSUMER.INFO.{target}.{name}")
    if session.json:
        show.data(found)
    else:
        print_consumer(found)


@click.command("report", cls=Command, examples="jetstream-py consumer report ORDERS")
@stream_argument
@connected
async def report(session: Session, stream: str | None) -> None:
    """Compare the consumers of STREAM: what is acked, redelivered and still to come."""
    target = await pick_stream(session, stream)
    infos = await consumer_infos(session, target)
    if session.json:
        show.data(infos)
        return
    state = (await session.api(f"STREAM.INFO.{target}"))["state"]
    columns = (
        "Consumer",
        "Mode",
        "Ack Policy",
        "Ack Wait",
        "Ack Pending",
        "Redelivered",
        "Unprocessed",
        "Ack Floor",
    )
    rows = [_row(info, state["messages"]) for info in infos]
    show.table(f"Consumers of {target}", columns, rows, right=columns[3:])


def _row(info: Json, messages: int) -> tuple[str, ...]:
    config = info["config"]
    part = f" / {info['num_pending'] * 100 // messages}%" if messages else ""
    return (
        info["name"],
        "Push" if config.get("deliver_subject") else "Pull",
        word(config["ack_policy"]),
        units.duration(config.get("ack_wait", 0)),
        units.count(info["num_ack_pending"]),
        units.count(info["num_redelivered"]),
        f"{units.count(info['num_pending'])}{part}",
        units.count(info["ack_floor"]["stream_seq"]),
    )


VERBS: Final = (list_consumers, info, report)
