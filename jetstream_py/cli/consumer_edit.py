"""`jetstream-py consumer add`, `edit`, `pause`, `resume` and `rm`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click

from jetstream_py.cli import ask, config_file, show, units
from jetstream_py.cli.connect import Session, connected, run
from jetstream_py.cli.consumer_options import (
    AT_FIRST,
    FIELDS,
    apply_changeable,
    apply_first,
    changeable_options,
    first_options,
    interview,
    until,
)
from jetstream_py.cli.consumer_show import print_consumer
from jetstream_py.cli.frame import Command, force_option
from jetstream_py.cli.names import consumer_arguments, pick_consumer, pick_stream, whole
from jetstream_py.cli.stream_edit import FILE, OUTPUT
from jetstream_py.migrate.connection import Json


@click.command(
    "add",
    cls=Command,
    aliases=("create", "new"),
    examples="""jetstream-py consumer add ORDERS WORKER --pull --filter orders.new --defaults
    jetstream-py consumer add ORDERS MONITOR --target monitor --ack none --deliver last
    jetstream-py consumer add ORDERS LATE --deliver 1h --max-deliver 5 --wait 10s --defaults
    jetstream-py consumer add ORDERS --config worker.json""",
)
@consumer_arguments
@config_file.options([*FIELDS, *AT_FIRST])
@changeable_options
@first_options
@click.option("--config", "file", type=FILE, help="JSON file to begin with")
@click.option("--output", type=OUTPUT, help="Write the JSON to a file, make nothing")
@click.option("--defaults", is_flag=True, help="Ask nothing that has a default")
def add(
    stream: str | None,
    consumer: str | None,
    file: Path | None,
    output: Path | None,
    defaults: bool,
    **given: Any,
) -> None:
    """Make a consumer of STREAM.

    Options win over the file. On a terminal the rest is asked for, unless there is a file or --defaults.
    """
    config = config_file.read(file) if file else {}
    apply_changeable(config, given, (*FIELDS, *AT_FIRST))
    apply_first(config, given)
    name = consumer or config.get("durable_name") or config.get("name")
    if not name and not given["ephemeral"]:
        name = ask.text("Consumer name", "CONSUMER (or --ephemeral)")
    if name:
        config["name"] = whole(name, "CONSUMER")
        config.pop("durable_name", None)
        if not given["ephemeral"]:
            config["durable_name"] = name
    if not file and not defaults and ask.possible():
        interview(config, given["pull"])
    push = bool(config.get("deliver_subject"))
    config = {"ack_policy": "none" if push else "explicit", "deliver_policy": "all", **config}
    config.setdefault("replay_policy", "instant")
    if output:
        config_file.write(output, config)
        show.note(f"Wrote {output}; `jetstream-py consumer add STREAM --config {output}` makes it")
        return
    run(lambda session: _create(session, stream, config))


async def _create(session: Session, stream: str | None, config: Json) -> None:
    target = await pick_stream(session, stream)
    show_consumer(session, await create(session, target, config, "create"))


async def create(session: Session, stream: str, config: Json, action: str) -> Json:
    """`action`: create what is not there yet, or update what is."""
    subject = f"CONSUMER.CREATE.{stream}"
    if config.get("name"):
        subject += f".{config['name']}"
    body = {"stream_name": stream, "config": config, "action": action}
    return await session.api(subject, body)


def show_consumer(session: Session, info: Json) -> None:
    if session.json:
        show.data(info)
    else:
        print_consumer(info)


@click.command(
    "edit",
    cls=Command,
    aliases=("update",),
    examples="""jetstream-py consumer edit ORDERS WORKER --max-pending 500
    jetstream-py consumer edit ORDERS WORKER --config worker.json --dry-run""",
)
@consumer_arguments
@config_file.options(FIELDS)
@changeable_options
@click.option("--config", "file", type=FILE, help="JSON file with the new configuration")
@click.option("-i", "--interactive", is_flag=True, help="Change it in $EDITOR")
@click.option("--dry-run", is_flag=True, help="Only show what would change")
@force_option
@connected
async def edit(
    session: Session,
    stream: str | None,
    consumer: str | None,
    file: Path | None,
    interactive: bool,
    dry_run: bool,
    force: bool,
    **given: Any,
) -> None:
    """Change CONSUMER of STREAM: shows the difference and asks."""
    target = await pick_stream(session, stream)
    name = await pick_consumer(session, target, consumer)
    old: Json = (await session.api(f"CONSUMER.INFO.{target}.{name}"))["config"]
    new = {**old, **(config_file.read(file) if file else {})}
    changed = apply_changeable(new, given, FIELDS) or file is not None
    if interactive or not changed:
        new = config_file.edited(new)
    if config_file.approve(session, old, new, f"consumer {target} > {name}", force, dry_run):
        show_consumer(session, await create(session, target, {**new, "name": name}, "update"))


@click.command(
    "pause",
    cls=Command,
    examples="""jetstream-py consumer pause ORDERS WORKER 1h -f
    jetstream-py consumer pause ORDERS WORKER '2026-12-31 23:59' -f""",
)
@consumer_arguments
@click.argument("deadline", required=False, metavar="[UNTIL]")
@force_option
@connected
async def pause(
    session: Session, stream: str | None, consumer: str | None, deadline: str | None, force: bool
) -> None:
    """Let CONSUMER of STREAM deliver nothing for so long, or until a time."""
    target = await pick_stream(session, stream)
    name = await pick_consumer(session, target, consumer)
    end = until(deadline or ask.text("Until", "UNTIL"))
    ask.confirm(f"Really pause consumer {target} > {name} until {units.stamp(end)}?", force)
    answer = await session.api(f"CONSUMER.PAUSE.{target}.{name}", {"pause_until": end})
    if session.json:
        show.data(answer)
    else:
        show.line(f"Paused {target} > {name} until {units.stamp(answer['pause_until'])}")


@click.command("resume", cls=Command, examples="jetstream-py consumer resume ORDERS WORKER -f")
@consumer_arguments
@force_option
@connected
async def resume(session: Session, stream: str | None, consumer: str | None, force: bool) -> None:
    """Let CONSUMER of STREAM go on after a pause."""
    target = await pick_stream(session, stream)
    name = await pick_consumer(session, target, consumer)
    ask.confirm(f"Really resume consumer {target} > {name}?", force)
    answer = await session.api(f"CONSUMER.PAUSE.{target}.{name}")
    if session.json:
        show.data(answer)
    else:
        show.line(f"Resumed {target} > {name}")


@click.command(
    "rm",
    cls=Command,
    aliases=("delete", "del"),
    examples="jetstream-py consumer rm ORDERS WORKER -f",
)
@consumer_arguments
@force_option
@connected
async def remove(session: Session, stream: str | None, consumer: str | None, force: bool) -> None:
    """Remove CONSUMER of STREAM."""
    target = await pick_stream(session, stream)
    name = await pick_consumer(session, target, consumer)
    ask.confirm(f"Really delete consumer {target} > {name}?", force)
    answer = await session.api(f"CONSUMER.DELETE.{target}.{name}")
    if session.json:
        show.data(answer)
    else:
        show.line(f"Consumer {target} > {name} was deleted")


VERBS: Final = (add, edit, pause, resume, remove)
