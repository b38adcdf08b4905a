"""Object stores as such: made, listed, shown, sealed, removed."""

from __future__ import annotations

from typing import Any

import click

from jetstream_py import objstore
from jetstream_py.cli import ask, show, units
from jetstream_py.cli.frame import DURATION, SIZE, Command, force_option
from jetstream_py.cli.views import View, local, metadata, pick_store, seconds, viewing


@click.command(
    "add",
    cls=Command,
    aliases=("new",),
    examples="""jetstream-py object add files
    jetstream-py object add builds --ttl 30d --max-bucket-size 10GiB""",
)
@click.argument("store", required=False)
@click.option("--description", default="", help="What it is for")
@click.option("--ttl", type=DURATION, default=0, help="How long objects live")
@click.option("--max-bucket-size", type=SIZE, default=-1, help="Largest store")
@click.option("--storage", type=click.Choice(["file", "memory"]), default="file", show_default=True)
@click.option("--replicas", type=int, default=1, show_default=True, help="Copies in a cluster")
@click.option("--compress/--no-compress", default=False, help="Compress what is stored")
@click.option("--metadata", "pairs", multiple=True, metavar="NAME=VALUE", help="Words of your own")
@viewing
async def add(view: View, store: str | None, **given: Any) -> None:
    """Make a store."""
    made = await objstore.create_store(
        view.js,
        objstore.Store(
            store or ask.text("Store", "STORE"),
            description=given["description"],
            ttl=seconds(given["ttl"]),
            max_bytes=given["max_bucket_size"],
            storage=given["storage"],
            replicas=given["replicas"],
            compression=given["compress"],
            metadata=metadata(given["pairs"]),
        ),
    )
    print_status(view, await made.status())


@click.command(
    "info",
    cls=Command,
    examples="""jetstream-py object info files
    jetstream-py object info files report.pdf""",
)
@click.argument("store", required=False)
@click.argument("name", required=False)
@viewing
async def info(view: View, store: str | None, name: str | None) -> None:
    """Show a store, or an object of it."""
    found = await objstore.open_store(view.js, await pick_store(view, store))
    if name is None:
        print_status(view, await found.status())
    else:
        print_object(view, await found.info(name))


@click.command(
    "ls",
    cls=Command,
    aliases=("list",),
    examples="""jetstream-py object ls
    jetstream-py object ls files""",
)
@click.argument("store", required=False)
@click.option("-n", "--names", is_flag=True, help="Names alone")
@viewing
async def ls(view: View, store: str | None, names: bool) -> None:
    """List stores, or the objects of one."""
    if store is None:
        await _list_stores(view, names)
        return
    bucket = await objstore.open_store(view.js, store)
    found = sorted(await bucket.list(), key=lambda info: info.name)
    if view.json:
        show.data([each.name if names else object_json(each) for each in found])
    elif not found:
        show.note("the store is empty")
    elif names:
        show.line("\n".join(show.safe(each.name) for each in found))
    else:
        rows = [(each.name, units.size(each.size), local(each.modified)) for each in found]
        show.table("Bucket Contents", ("Name", "Size", "Time"), rows, right=("Size",))


async def _list_stores(view: View, names: bool) -> None:
    found = sorted(await objstore.list_stores(view.js), key=lambda status: status.bucket)
    if view.json:
        show.data([each.bucket if names else status_json(each) for each in found])
    elif not found:
        show.note("no stores: `jetstream-py object add` makes one")
    elif names:
        show.line("\n".join(each.bucket for each in found))
    else:
        show.table(
            "Object Store Buckets",
            ("Bucket", "Description", "Created", "Size", "Last Update"),
            [
                (
                    each.bucket,
                    each.description,
                    units.stamp(each.info.created),
                    units.size(each.bytes),
                    units.since(each.info.state.last_ts),
                )
                for each in found
            ],
            right=("Size", "Last Update"),
        )


@click.command("seal", cls=Command, examples="jetstream-py object seal builds -f")
@click.argument("store", required=False)
@force_option
@viewing
async def seal(view: View, store: str | None, force: bool) -> None:
    """Make a store read-only for ever."""
    found = await objstore.open_store(view.js, await pick_store(view, store))
    ask.confirm(f"Seal {found.bucket}? Nothing can be changed in it afterwards.", force)
    status = await found.seal()
    if not view.json:
        show.line(f"{found.bucket} has been sealed")
    print_status(view, status)


@click.command("rm", cls=Command, examples="jetstream-py object rm files -f")
@click.argument("store", required=False)
@force_option
@viewing
async def rm(view: View, store: str | None, force: bool) -> None:
    """Remove a store with all its objects."""
    await remove(view, await pick_store(view, store), force)


async def remove(view: View, name: str, force: bool) -> None:
    await objstore.open_store(view.js, name)  # nobody is asked about what is not there
    ask.confirm(f"Remove store {name} with all its objects?", force)
    await objstore.delete_store(view.js, name)
    if view.json:
        show.data({"bucket": name, "removed": True})


def status_json(status: objstore.StoreStatus) -> dict[str, Any]:
    return {
        "bucket": status.bucket,
        "description": status.description,
        "created": status.info.created,
        "bytes": status.bytes,
        "sealed": status.sealed,
        "config": status.info.config,
    }


def object_json(info: objstore.ObjectInfo) -> dict[str, Any]:
    found: dict[str, Any] = {
        "bucket": info.bucket,
        "name": info.name,
        "size": info.size,
        "chunks": info.chunks,
        "digest": info.digest,
        "modified": info.modified.isoformat(),
        "description": info.description,
        "headers": info.headers,
        "metadata": info.metadata,
        "deleted": info.deleted,
    }
    if info.link:
        found["link"] = {"bucket": info.link.bucket, "name": info.link.name}
    return found


def print_status(view: View, status: objstore.StoreStatus) -> None:
    if view.json:
        show.data(status_json(status))
        return
    pairs: list[tuple[str, object]] = [
        ("Bucket Name", status.bucket),
        ("Description", status.description or None),
        ("Replicas", status.info.config.get("num_replicas", 1)),
        ("TTL", units.limit(round(status.ttl * 1e9), units.duration)),
        ("Sealed", status.sealed),
        ("Compressed", status.compression),
        ("Size", units.size(status.bytes)),
        ("Maximum Bucket Size", units.limit(status.max_bytes, units.size)),
        ("Storage", status.storage.capitalize()),
        ("Backing Store Kind", "JetStream"),
        ("JetStream Stream", status.info.name),
        ("Metadata", [f"{key}: {value}" for key, value in status.metadata.items()] or None),
    ]
    created = units.stamp(status.info.created)
    title = f"Information for Object Store Bucket {status.bucket} created {created}"
    show.facts(title, [("Configuration", pairs)])


def print_object(view: View, info: objstore.ObjectInfo) -> None:
    if view.json:
        show.data(object_json(info))
        return
    told = [f"{name}: {value}" for name, values in info.headers.items() for value in values]
    pairs: list[tuple[str, object]] = [
        ("Description", info.description or None),
        ("Size", units.size(info.size)),
        ("Modification Time", local(info.modified)),
        ("Chunks", units.count(info.chunks)),
        ("Headers", told or None),
        ("Metadata", [f"{name}: {value}" for name, value in info.metadata.items()] or None),
    ]
    if info.link:
        pairs.append(("Link To", f"{info.link.bucket} > {info.link.name}".rstrip(" >")))
    else:
        pairs.append(("Digest", f"SHA-256 {info.sha256().hex()}"))
    show.facts(f"Object information for {info.bucket} > {info.name}", [("", pairs)])
