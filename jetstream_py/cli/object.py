"""`jetstream-py object`: files of any size in object stores."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Final

import click

from jetstream_py import limits, objstore
from jetstream_py.cli import ask, object_stores, show, units
from jetstream_py.cli.failure import Failure
from jetstream_py.cli.frame import SIZE, Group, force_option
from jetstream_py.cli.object_stores import object_json, print_object
from jetstream_py.cli.views import View, local, pick_store, viewing

STANDARD: Final = "-"  # standard input or output


@click.group("object", cls=Group, aliases=("obj",))
def command() -> None:
    """Object stores: files of any size by name, checked when they are read."""


for verb in (
    object_stores.add,
    object_stores.ls,
    object_stores.info,
    object_stores.seal,
    object_stores.rm,
):
    command.add_command(verb)


class Counted:
    """A file that tells how much of it was read."""

    def __init__(self, file: BinaryIO, advance: show.Advance) -> None:
        self._file = file
        self._advance = advance
        self._done = 0

    def read(self, size: int) -> bytes:
        data = self._file.read(size)
        self._done += len(data)
        self._advance(self._done)
        return data


@command.command(
    "put",
    examples="""jetstream-py object put files report.pdf
    tar c src | jetstream-py object put builds --name src.tar""",
)
@click.argument("store", required=False)
@click.argument("file", required=False)
@click.option("--name", help="The object's name [that of the file]")
@click.option("--description", default="", help="What it is")
@click.option("-H", "--header", "headers", multiple=True, metavar="NAME:VALUE")
@click.option("--chunk-size", type=SIZE, default=limits.OBJECT_CHUNK, help="[128KiB]")
@click.option("--progress/--no-progress", default=True, help="Show how far it is [yes]")
@force_option
@viewing
async def put(
    view: View,
    store: str | None,
    file: str | None,
    name: str | None,
    description: str,
    headers: tuple[str, ...],
    chunk_size: int,
    progress: bool,
    force: bool,
) -> None:
    """Store a file, or without FILE standard input."""
    told = _headers(headers)
    found = await objstore.open_store(view.js, await pick_store(view, store))
    if file is None and ask.possible():
        file = ask.text("File", "FILE")
    standard = file is None or file == STANDARD
    if name is None:
        name = ask.text("Name", "--name") if standard else str(file)
    await _ask_to_replace(found, name, force)
    with (
        _source(None if standard else file) as (source, size),
        show.progress(name, size, "bytes", progress) as advance,
    ):
        counted: Any = Counted(source, advance)
        info = await found.put(
            name, counted, description=description, headers=told, chunk_size=chunk_size
        )
    print_object(view, info)


@contextmanager
def _source(file: str | None) -> Iterator[tuple[BinaryIO, int | None]]:
    """What is stored, and its size if that is known. Raises `Failure`."""
    if file is None:
        yield sys.stdin.buffer, None
        return
    try:
        opened = open(file, "rb")  # noqa: SIM115 (what is raised while it is open is no error of it)
    except OSError as error:
        raise Failure(f"{file} cannot be read: {error.strerror}") from None
    with opened:
        yield opened, os.fstat(opened.fileno()).st_size


def _headers(pairs: Sequence[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for pair in pairs:
        name, colon, value = pair.partition(":")
        if not (name.strip() and colon):
            raise click.BadParameter(f"{pair!r} is no Name:value", param_hint="-H")
        found.setdefault(name.strip(), []).append(value.strip())
    return found


async def _ask_to_replace(store: objstore.ObjectStore, name: str, force: bool) -> None:
    if force:
        return
    try:
        old = await store.info(name)
    except objstore.ObjectNotFound:
        return
    ask.confirm(f"Replace {store.bucket} > {name} ({units.size(old.size)})?", force)


@command.command(
    "get",
    examples="""jetstream-py object get files report.pdf
    jetstream-py object get builds src.tar -O - | tar t""",
)
@click.argument("store", required=False)
@click.argument("name", required=False)
@click.option("-O", "--output", metavar="FILE", help="Where it goes [its name, here]; - is stdout")
@click.option("--progress/--no-progress", default=True, help="Show how far it is [yes]")
@force_option
@viewing
async def get(
    view: View,
    store: str | None,
    name: str | None,
    output: str | None,
    progress: bool,
    force: bool,
) -> None:
    """Fetch an object. A file appears when all of it is there and its digest is right."""
    found = await objstore.open_store(view.js, await pick_store(view, store))
    if name is None:
        name = ask.pick("Object", "NAME", sorted(each.name for each in await found.list()))
    info = await found.info(name)
    target = None if output == STANDARD else _target(output, name, force)
    with show.progress(name, info.size, "bytes", progress) as advance:
        if target is None:
            await _write(found, name, sys.stdout.buffer, advance)
            return
        written = await _write_file(found, name, target, advance)
    if view.json:
        show.data({**object_json(info), "file": str(target)})
    else:
        show.line(show.safe(f"Wrote: {units.size(written)} to {target}"))


def _target(output: str | None, name: str, force: bool) -> Path:
    """The file to write. A name may hold slashes, and dots between them: only its last part counts."""
    target = Path(output or Path(name).name)
    if target.name in ("", "..") or target.is_dir():
        raise Failure(f"{str(target)!r} is no file", "give one with -O")
    if target.exists():
        ask.confirm(f"Overwrite {target}?", force)
    return target.resolve()


async def _write(
    store: objstore.ObjectStore, name: str, file: BinaryIO, advance: show.Advance
) -> int:
    written = 0
    async for chunk in await store.get(name):
        file.write(chunk)
        written += len(chunk)
        advance(written)
    file.flush()
    return written


async def _write_file(
    store: objstore.ObjectStore, name: str, target: Path, advance: show.Advance
) -> int:
    """Under another name until it is whole."""
    try:
        with tempfile.NamedTemporaryFile(dir=target.parent, delete=False) as file:
            try:
                written = await _write(store, name, file, advance)  # type: ignore[arg-type]
                mask = os.umask(0)
                os.umask(mask)
                os.fchmod(file.fileno(), 0o666 & ~mask)
                os.replace(file.name, target)
            except BaseException:
                os.unlink(file.name)
                raise
    except OSError as error:
        raise Failure(f"{target} cannot be written: {error.strerror}") from None
    return written


@command.command("del", aliases=("delete",), examples="jetstream-py object del files old.pdf -f")
@click.argument("store", required=False)
@click.argument("name", required=False)
@force_option
@viewing
async def delete(view: View, store: str | None, name: str | None, force: bool) -> None:
    """Delete an object, or without NAME remove the store."""
    bucket = await pick_store(view, store)
    if name is None:
        await object_stores.remove(view, bucket, force)
        return
    found = await objstore.open_store(view.js, bucket)
    info = await found.info(name)
    ask.confirm(f"Delete {bucket} > {name} ({units.size(info.size)})?", force)
    await found.delete(name)
    if view.json:
        show.data({"bucket": bucket, "name": name, "deleted": True})
    else:
        show.line(show.safe(f"Removed {bucket} > {name}"))


@command.command("watch", examples="jetstream-py object watch files --updates --json")
@click.argument("store", required=False)
@click.option("--updates", is_flag=True, help="Begin with what comes")
@click.option("--count", type=click.IntRange(1), help="End after so many")
@viewing
async def watch(view: View, store: str | None, updates: bool, count: int | None) -> None:
    """Show objects as they are, then as they come and go. Ctrl-C ends it."""
    found = await objstore.open_store(view.js, await pick_store(view, store))
    seen = 0
    async with found.watch(updates_only=updates) as watcher:
        async for info in watcher:
            if info is None:
                continue
            _print_update(view, info)
            seen += 1
            if seen == count:
                return
    raise Failure("the watch has ended: the store or the connection is gone")


def _print_update(view: View, info: objstore.ObjectInfo) -> None:
    if view.json:
        show.line(json.dumps(object_json(info), ensure_ascii=False))
        return
    when, where = local(info.modified), f"{info.bucket} > {info.name}"
    if info.deleted:
        show.line(show.safe(f"[{when}] DEL {where}"))
    else:
        size, chunks = units.size(info.size), units.count(info.chunks)
        show.line(show.safe(f"[{when}] PUT {where}: {size} in {chunks} chunks"))
