"""Buckets as such: made, listed, shown, compacted, removed."""

from __future__ import annotations

from typing import Any

import click

from jetstream_py import kv
from jetstream_py.cli import ask, show, units
from jetstream_py.cli.frame import DURATION, SIZE, Command, force_option
from jetstream_py.cli.message import body_json
from jetstream_py.cli.views import View, local, metadata, pick_bucket, seconds, viewing


@click.command(
    "add",
    cls=Command,
    aliases=("new",),
    examples="""jetstream-py kv add settings --history 5
    jetstream-py kv add sessions --ttl 1h --storage memory""",
)
@click.argument("bucket", required=False)
@click.option("--description", default="", help="What it is for")
@click.option("--history", type=int, default=1, show_default=True, help="Values kept of each key")
@click.option("--ttl", type=DURATION, default=0, help="How long values live")
@click.option("--marker-ttl", type=DURATION, default=0, help="Values may have a TTL; markers live")
@click.option("--max-value-size", type=SIZE, default=-1, help="Largest value")
@click.option("--max-bucket-size", type=SIZE, default=-1, help="Largest bucket")
@click.option("--storage", type=click.Choice(["file", "memory"]), default="file", show_default=True)
@click.option("--replicas", type=int, default=1, show_default=True, help="Copies in a cluster")
@click.option("--compress/--no-compress", default=False, help="Compress what is stored")
@click.option("--metadata", "pairs", multiple=True, metavar="NAME=VALUE", help="Words of your own")
@click.option("--mirror", metavar="BUCKET", help="Copy another bucket, read only")
@click.option("--mirror-domain", default="", metavar="DOMAIN", help="Where that bucket is")
@click.option("--source", multiple=True, metavar="BUCKET", help="Take in another bucket")
@click.option("--republish-source", default="", metavar="FILTER", help="What is published again")
@click.option("--republish-destination", metavar="SUBJECT", help="... under another name")
@click.option("--republish-headers", is_flag=True, help="... without values")
@viewing
async def add(view: View, bucket: str | None, **given: Any) -> None:
    """Make a bucket."""
    name = bucket or ask.text("Bucket", "BUCKET")
    mirror, republish = given["mirror"], given["republish_destination"]
    made = await kv.create_bucket(
        view.js,
        kv.Bucket(
            name,
            description=given["description"],
            history=given["history"],
            ttl=seconds(given["ttl"]),
            limit_marker_ttl=seconds(given["marker_ttl"]),
            max_value_size=given["max_value_size"],
            max_bytes=given["max_bucket_size"],
            storage=given["storage"],
            replicas=given["replicas"],
            compression=given["compress"],
            metadata=metadata(given["pairs"]),
            mirror=kv.Origin(mirror, domain=given["mirror_domain"]) if mirror else None,
            sources=[kv.Origin(source) for source in given["source"]],
            republish=kv.Republish(republish, given["republish_source"], given["republish_headers"])
            if republish
            else None,
        ),
    )
    print_status(view, await made.status())


@click.command("info", cls=Command, examples="jetstream-py kv info settings", aliases=("status",))
@click.argument("bucket", required=False)
@viewing
async def info(view: View, bucket: str | None) -> None:
    """Show a bucket: its options, how much it holds."""
    found = await kv.open_bucket(view.js, await pick_bucket(view, bucket))
    print_status(view, await found.status())


@click.command(
    "ls",
    cls=Command,
    aliases=("list",),
    examples="""jetstream-py kv ls
    jetstream-py kv ls settings
    jetstream-py kv ls settings 'app.>' --verbose --display-value""",
)
@click.argument("bucket", required=False)
@click.argument("filters", nargs=-1)
@click.option("-n", "--names", is_flag=True, help="Names of buckets alone")
@click.option("-v", "--verbose", is_flag=True, help="Keys with revision and time")
@click.option("--display-value", is_flag=True, help="... and value")
@viewing
async def ls(
    view: View,
    bucket: str | None,
    filters: tuple[str, ...],
    names: bool,
    verbose: bool,
    display_value: bool,
) -> None:
    """List buckets, or the keys of one."""
    if bucket is None:
        await _list_buckets(view, names)
        return
    found = await kv.open_bucket(view.js, bucket)
    if verbose:
        await _list_entries(view, found, filters, display_value)
        return
    keys = sorted(await found.keys(*filters))
    if view.json:
        show.data(keys)
    elif keys:
        show.line("\n".join(keys))
    else:
        show.note("no keys found in bucket")


async def _list_buckets(view: View, names: bool) -> None:
    found = sorted(await kv.list_buckets(view.js), key=lambda status: status.bucket)
    if view.json:
        show.data([each.bucket if names else status_json(each) for each in found])
    elif not found:
        show.note("no buckets: `jetstream-py kv add` makes one")
    elif names:
        show.line("\n".join(each.bucket for each in found))
    else:
        show.table(
            "Key-Value Buckets",
            ("Bucket", "Description", "Created", "Size", "Values", "Last Update"),
            [
                (
                    each.bucket,
                    each.description,
                    units.stamp(each.info.created),
                    units.size(each.bytes),
                    units.count(each.values),
                    units.since(each.info.state.last_ts),
                )
                for each in found
            ],
            right=("Size", "Values", "Last Update"),
        )


async def _list_entries(
    view: View, bucket: kv.KeyValue, filters: tuple[str, ...], values: bool
) -> None:
    entries: list[kv.Entry] = []
    async with bucket.watch(*filters, ignore_deletes=True, meta_only=not values) as watcher:
        async for entry in watcher:
            if entry is None:
                break
            entries.append(entry)
    entries.sort(key=lambda entry: entry.key)
    if view.json:
        show.data([entry_json(entry, values) for entry in entries])
        return
    columns = ["Key", "Created", "Revision", *(["Value"] if values else [])]
    rows = [
        [entry.key, local(entry.created), entry.revision, *([shown(entry)] if values else [])]
        for entry in entries
    ]
    show.table(f"Contents for bucket '{bucket.bucket}'", columns, rows, right=("Revision",))


@click.command("compact", cls=Command, examples="jetstream-py kv compact settings -f")
@click.argument("bucket", required=False)
@click.option("--older-than", type=DURATION, default="30m", help="Age of markers that go [30m]")
@force_option
@viewing
async def compact(view: View, bucket: str | None, older_than: int, force: bool) -> None:
    """Remove what deleted keys left: their history, and their markers when they are old."""
    name = await pick_bucket(view, bucket)
    found = await kv.open_bucket(view.js, name)
    ask.confirm(f"Remove what deleted keys of {name} left?", force)
    removed = await found.purge_deletes(older_than=seconds(older_than))
    if view.json:
        show.data({"bucket": name, "removed": removed})
    else:
        show.line(f"{units.count(removed)} revisions were removed")


@click.command("rm", cls=Command, examples="jetstream-py kv rm settings -f")
@click.argument("bucket", required=False)
@force_option
@viewing
async def rm(view: View, bucket: str | None, force: bool) -> None:
    """Remove a bucket with all its values."""
    await remove(view, await pick_bucket(view, bucket), force)


async def remove(view: View, name: str, force: bool) -> None:
    await kv.open_bucket(view.js, name)  # nobody is asked about what is not there
    ask.confirm(f"Remove bucket {name} with all its values?", force)
    await kv.delete_bucket(view.js, name)
    if view.json:
        show.data({"bucket": name, "removed": True})


def shown(entry: kv.Entry) -> str:
    """A value in a table or a line."""
    return show.safe(entry.value.decode("utf-8", "backslashreplace"))


def entry_json(entry: kv.Entry, value: bool = True) -> dict[str, Any]:
    return {
        "bucket": entry.bucket,
        "key": entry.key,
        "revision": entry.revision,
        "operation": entry.operation,
        "created": entry.created.isoformat(),
        **(body_json(entry.value, "value") if value else {}),
    }


def status_json(status: kv.BucketStatus) -> dict[str, Any]:
    info = status.info
    return {
        "bucket": status.bucket,
        "description": status.description,
        "created": info.created,
        "values": status.values,
        "bytes": status.bytes,
        "last_revision": status.last_revision,
        "config": info.config,
    }


def print_status(view: View, status: kv.BucketStatus) -> None:
    if view.json:
        show.data(status_json(status))
        return
    ttl = round(status.ttl * 1e9)
    marker = round(status.limit_marker_ttl * 1e9)
    pairs: list[tuple[str, object]] = [
        ("Bucket Name", status.bucket),
        ("Description", status.description or None),
        ("History Kept", status.history),
        ("Values Stored", units.count(status.values)),
        ("Last Revision", units.count(status.last_revision)),
        ("Compressed", status.compression),
        ("Per-Key TTL Supported", status.key_ttl),
        ("Limit Marker TTL", units.duration(marker) if marker else None),
        ("Backing Store Kind", "JetStream"),
        ("Bucket Size", units.size(status.bytes)),
        ("Maximum Bucket Size", units.limit(status.max_bytes, units.size)),
        ("Maximum Value Size", units.limit(status.max_value_size, units.size)),
        ("Maximum Age", units.limit(ttl, units.duration)),
        ("JetStream Stream", status.info.name),
        ("Storage", status.storage.capitalize()),
        ("Mirror Of", status.mirror or None),
        ("Metadata", [f"{key}: {value}" for key, value in status.metadata.items()] or None),
    ]
    created = units.stamp(status.info.created)
    title = f"Information for Key-Value Store Bucket {status.bucket} created {created}"
    show.facts(title, [("Configuration", pairs)])
