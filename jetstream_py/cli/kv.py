"""`jetstream-py kv`: key-value buckets."""

from __future__ import annotations

import json

import click

from jetstream_py import kv
from jetstream_py.cli import ask, kv_buckets, show, units
from jetstream_py.cli.failure import Failure
from jetstream_py.cli.frame import DURATION, Group, force_option
from jetstream_py.cli.kv_buckets import entry_json, shown
from jetstream_py.cli.views import View, local, payload, pick_bucket, seconds, viewing


@click.group("kv", cls=Group)
def command() -> None:
    """Key-value buckets: values by key, with history, watched as they change."""


for verb in (kv_buckets.add, kv_buckets.ls, kv_buckets.info, kv_buckets.compact, kv_buckets.rm):
    command.add_command(verb)


async def _opened(view: View, bucket: str | None, key: str | None) -> tuple[kv.KeyValue, str]:
    found = await kv.open_bucket(view.js, await pick_bucket(view, bucket))
    return found, key if key is not None else ask.text("Key", "KEY")


def _stored(view: View, bucket: kv.KeyValue, key: str, revision: int, value: bytes) -> None:
    if view.json:
        show.data({"bucket": bucket.bucket, "key": key, "revision": revision})
    elif show.terminal():
        show.line(show.safe(value.decode("utf-8", "backslashreplace")))
        show.note(f"revision {revision}")
    else:
        show.raw(value)


def _ttl(nanoseconds: int | None) -> float | None:
    return None if nanoseconds is None else seconds(nanoseconds)


ttl_option = click.option(
    "--ttl", type=DURATION, help="How long it lives; see `kv add --marker-ttl`"
)


@command.command(
    "put",
    examples="""jetstream-py kv put settings colour blue
    jetstream-py kv put settings logo < logo.svg""",
)
@click.argument("bucket", required=False)
@click.argument("key", required=False)
@click.argument("value", required=False)
@ttl_option
@viewing
async def put(
    view: View, bucket: str | None, key: str | None, value: str | None, ttl: int | None
) -> None:
    """Set a key to a value, whatever there is. Without VALUE it is read from standard input."""
    found, key = await _opened(view, bucket, key)
    data = payload(value, "Value", "VALUE")
    _stored(view, found, key, await found.put(key, data, ttl=_ttl(ttl)), data)


@command.command("create", examples="jetstream-py kv create locks job-7 worker-1 --ttl 30s")
@click.argument("bucket", required=False)
@click.argument("key", required=False)
@click.argument("value", required=False)
@ttl_option
@viewing
async def create(
    view: View, bucket: str | None, key: str | None, value: str | None, ttl: int | None
) -> None:
    """Set a key that has no value, or fail."""
    found, key = await _opened(view, bucket, key)
    data = payload(value, "Value", "VALUE")
    _stored(view, found, key, await found.create(key, data, ttl=_ttl(ttl)), data)


@command.command("update", examples="jetstream-py kv update settings colour green 7")
@click.argument("bucket")
@click.argument("key")
@click.argument("value")
@click.argument("revision", type=click.IntRange(0))
@ttl_option
@viewing
async def update(
    view: View, bucket: str, key: str, value: str, revision: int, ttl: int | None
) -> None:
    """Set a key that is still at REVISION, or fail."""
    found = await kv.open_bucket(view.js, bucket)
    data = value.encode("utf-8", "surrogateescape")
    _stored(view, found, key, await found.update(key, data, revision, ttl=_ttl(ttl)), data)


@command.command(
    "get",
    examples="""jetstream-py kv get settings colour
    jetstream-py kv get settings logo --raw > logo.svg
    jetstream-py kv get settings colour --at 1h""",
)
@click.argument("bucket", required=False)
@click.argument("key", required=False)
@click.option("--revision", type=click.IntRange(1), help="The value of one revision")
@click.option("--at", metavar="TIME", help="The value it had then: a time, or how long ago")
@click.option("--raw", is_flag=True, help="The value alone, byte by byte")
@viewing
async def get(
    view: View,
    bucket: str | None,
    key: str | None,
    revision: int | None,
    at: str | None,
    raw: bool,
) -> None:
    """Show the value of a key."""
    found, key = await _opened(view, bucket, key)
    if at is None:
        entry = await found.get(key, revision=revision)
    elif revision is not None:
        raise click.UsageError("--at and --revision exclude each other")
    else:
        try:
            when = units.parse_time(at)
        except ValueError as error:
            raise click.BadParameter(str(error), param_hint="--at") from None
        entry = await found.get_as_of(key, time=when)
    if view.json:
        show.data(entry_json(entry))
    elif raw:
        click.echo(entry.value, nl=False)
    else:
        created = local(entry.created)
        show.line(f"{found.bucket} > {key} revision: {entry.revision} created @ {created}\n")
        show.line(f"{shown(entry)}\n") if show.terminal() else show.raw(entry.value + b"\n")


@command.command("del", aliases=("delete",), examples="jetstream-py kv del settings colour -f")
@click.argument("bucket", required=False)
@click.argument("key", required=False)
@force_option
@viewing
async def delete(view: View, bucket: str | None, key: str | None, force: bool) -> None:
    """Delete a key and keep its history, or without KEY remove the bucket."""
    name = await pick_bucket(view, bucket)
    if key is None:
        await kv_buckets.remove(view, name, force)
        return
    found = await kv.open_bucket(view.js, name)
    ask.confirm(f"Delete key {name} > {key}?", force)
    await found.delete(key)
    if view.json:
        show.data({"bucket": name, "key": key, "deleted": True})


@command.command("purge", examples="jetstream-py kv purge settings colour -f")
@click.argument("bucket", required=False)
@click.argument("key", required=False)
@click.option("--ttl", type=DURATION, help="When the marker goes by itself")
@force_option
@viewing
async def purge(
    view: View, bucket: str | None, key: str | None, ttl: int | None, force: bool
) -> None:
    """Delete a key with its history."""
    found, key = await _opened(view, bucket, key)
    ask.confirm(f"Purge key {found.bucket} > {key} with its history?", force)
    await found.purge(key, ttl=_ttl(ttl))
    if view.json:
        show.data({"bucket": found.bucket, "key": key, "purged": True})


@command.command("history", examples="jetstream-py kv history settings colour")
@click.argument("bucket", required=False)
@click.argument("key", required=False)
@viewing
async def history(view: View, bucket: str | None, key: str | None) -> None:
    """Show the revisions of a key that are kept, oldest first."""
    found, key = await _opened(view, bucket, key)
    entries = await found.history(key)
    if not entries:
        raise kv.KeyNotFound(key)
    if view.json:
        show.data([entry_json(entry) for entry in entries])
        return
    show.table(
        f"History for {found.bucket} > {key}",
        ("Key", "Revision", "Op", "Created", "Length", "Value"),
        [
            (
                key,
                entry.revision,
                _word(entry),
                local(entry.created),
                len(entry.value),
                shown(entry),
            )
            for entry in entries
        ],
        right=("Revision", "Length"),
    )


@command.command("revert", examples="jetstream-py kv revert settings colour 3 -f")
@click.argument("bucket")
@click.argument("key")
@click.argument("revision", type=click.IntRange(1))
@force_option
@viewing
async def revert(view: View, bucket: str, key: str, revision: int, force: bool) -> None:
    """Set a key to the value it had in REVISION."""
    found = await kv.open_bucket(view.js, bucket)
    old = await found.get(key, revision=revision)
    ask.confirm(f"Set {bucket} > {key} to {shown(old)[:60]!r} of revision {revision}?", force)
    _stored(view, found, key, await found.put(key, old.value), old.value)


@command.command(
    "watch",
    examples="""jetstream-py kv watch settings
    jetstream-py kv watch settings 'app.>' --updates --json""",
)
@click.argument("bucket", required=False)
@click.argument("filters", nargs=-1)
@click.option("--history", "all_of_it", is_flag=True, help="Begin with all that is kept")
@click.option("--updates", is_flag=True, help="Begin with what comes")
@click.option("--revision", type=click.IntRange(1), help="Begin with a revision")
@click.option("--deletes/--no-deletes", default=True, help="Tell of deleted keys, too [yes]")
@click.option("--count", type=click.IntRange(1), help="End after so many")
@viewing
async def watch(
    view: View,
    bucket: str | None,
    filters: tuple[str, ...],
    all_of_it: bool,
    updates: bool,
    revision: int | None,
    deletes: bool,
    count: int | None,
) -> None:
    """Show values as they are, then as they change. Ctrl-C ends it."""
    if all_of_it + updates + (revision is not None) > 1:
        raise click.UsageError("--history, --updates and --revision exclude each other")
    found = await kv.open_bucket(view.js, await pick_bucket(view, bucket))
    watcher = found.watch(
        *filters,
        include_history=all_of_it,
        updates_only=updates,
        resume_from=revision,
        ignore_deletes=not deletes,
    )
    seen = 0
    async with watcher:
        async for entry in watcher:
            if entry is None:
                continue
            _print_update(view, entry)
            seen += 1
            if seen == count:
                return
    raise Failure("the watch has ended: the bucket or the connection is gone")


def _print_update(view: View, entry: kv.Entry) -> None:
    if view.json:
        show.line(json.dumps(entry_json(entry), ensure_ascii=False))
        return
    text = f"[{local(entry.created)}] {_word(entry)} {entry.bucket} > {entry.key}"
    show.line(text if entry.deleted else f"{text}: {shown(entry)}")


def _word(entry: kv.Entry) -> str:
    return "DELETE" if entry.operation == kv.DEL else entry.operation
