"""What is to be done: which streams, under which names, on which way."""

from __future__ import annotations

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Final

from jetstream_py.migrate import consumers, copy, stage
from jetstream_py.migrate.connection import Connection, Json
from jetstream_py.migrate.errors import MigrateError
from jetstream_py.migrate.options import Options
from jetstream_py.migrate.report import Outcome

_NEW_ARCHIVES: Final = (2, 15)  # since then archives name no stream and can be packed by anybody


@dataclass
class Item:
    """A stream that is to go."""

    name: str
    target: str
    info: Json  # of the source
    methods: list[str]  # to try, in this order
    consumers: list[Json]
    passing: int = 0  # consumers that are not durable
    outcome: Outcome = field(init=False)

    def __post_init__(self) -> None:
        state = self.info["state"]
        self.outcome = Outcome(self.name, self.target)
        self.outcome.method = self.methods[0] if self.methods else ""
        for key in ("messages", "bytes", "first_seq", "last_seq"):
            setattr(self.outcome, key, state[key])

    @property
    def config(self) -> Json:
        config: Json = self.info["config"]
        return config

    @property
    def origin(self) -> str:
        """What a stream under way says it comes from: the name alone might be another stream by now."""
        return f"{self.name} {self.info['created']}"


async def make(source: Connection, target: Connection, options: Options) -> list[Item]:
    """Raises `MigrateError` for what cannot be meant."""
    names = await source.pages("STREAM.NAMES", "streams")
    chosen = choose(names, options)
    items = []
    for name in chosen:
        info = await source.api(f"STREAM.INFO.{name}")
        item = Item(name, options.renames.get(name, name), info, [], [])
        lasting, others = await consumers.durable(source, name) if options.consumers else ([], 0)
        item.consumers = lasting
        item.outcome.consumers = [consumer["name"] for consumer in lasting]
        item.passing = others
        try:
            old = target.takes_old_archives
            item.methods = methods(item, source.release, target.release, old, options)
            item.outcome.method = item.methods[0]
        except MigrateError as error:
            item.outcome.error = str(error)
        items.append(item)
    # Whoever copies from another stream finds it there when it comes.
    return sorted(items, key=lambda item: "mirror" in item.config or "sources" in item.config)


def choose(names: list[str], options: Options) -> list[str]:
    chosen: list[str] = []
    for pattern in options.streams:
        found = [name for name in sorted(names) if fnmatchcase(name, pattern)]
        if not found:
            raise MigrateError(f"the source has no stream {pattern!r}")
        chosen += [name for name in found if name not in chosen]
    for old in options.renames:
        if old not in chosen:
            raise MigrateError(
                f"{old!r} is to be renamed, but it is not among the streams to migrate"
            )
    targets = [options.renames.get(name, name) for name in chosen]
    if twice := {name for name in targets if targets.count(name) > 1}:
        raise MigrateError(f"two streams would become {', '.join(sorted(twice))}")
    return chosen


def methods(
    item: Item,
    source: tuple[int, int],
    target: tuple[int, int],
    takes_old: bool,
    options: Options,
) -> list[str]:
    """The ways that are open. Raises `MigrateError` when there is none."""
    config, renamed = item.config, item.name != item.target
    if renamed and item.name.startswith("OBJ_"):
        raise MigrateError("an object bucket cannot be renamed: its entries hold its name")
    if bool(stage.kv_bucket(item.name)) != bool(stage.kv_bucket(item.target)):
        raise MigrateError("a bucket can only become a bucket: the names of both begin with KV_")
    for origin in config.get("sources") or []:
        if origin["name"] in options.renames:
            raise MigrateError(
                f"its messages name {origin['name']}, which would be called otherwise"
            )
    closed: dict[str, str] = {}
    old = source < _NEW_ARCHIVES
    if old != (target < _NEW_ARCHIVES) and not (old and takes_old):
        closed["backup"] = "archives of servers before 2.15 and of later ones are not the same"
    elif renamed and old:
        closed["backup"] = "archives of servers before 2.15 hold the stream's name"
    elif renamed and stage.kv_bucket(item.name):
        closed["backup"] = "the keys of a bucket get another name with it"
    if target < _NEW_ARCHIVES:
        closed["rebuild"] = "the target is older than 2.15"
    if text := copy.refusal(config):
        closed["copy"] = text
    if options.follow and text:
        raise MigrateError(f"--follow: {text}")
    messages = item.info["state"]["messages"]
    if config.get("retention") == "interest" and messages and not item.consumers:
        raise MigrateError("it keeps messages for its consumers, and no durable one goes with it")
    wanted = ("backup", "rebuild", "copy") if options.method == "auto" else (options.method,)
    if not (found := [method for method in wanted if method not in closed]):
        raise MigrateError(f"{wanted[-1]}: {closed[wanted[-1]]}")
    return found
