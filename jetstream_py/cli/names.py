"""Streams and consumers by name: given, chosen from a list, or completed by the shell."""

from __future__ import annotations

import asyncio
from typing import Any

import click
from click.shell_completion import CompletionItem

from jetstream_py.cli import ask
from jetstream_py.cli.connect import Session, connect
from jetstream_py.cli.frame import Settings
from jetstream_py.migrate.connection import Json
from jetstream_py.migrate.errors import MigrateError

SYSTEM = ("KV_", "OBJ_")  # streams under buckets


async def stream_names(session: Session, subject: str = "") -> list[str]:
    body = {"subject": subject} if subject else {}
    names = await session.pages("STREAM.NAMES", "streams", body)
    return sorted(map(str, names))


async def consumer_names(session: Session, stream: str) -> list[str]:
    return sorted(map(str, await session.pages(f"CONSUMER.NAMES.{stream}", "consumers")))


async def pick_stream(session: Session, name: str | None) -> str:
    if name:
        return whole(name, "STREAM")
    return ask.pick("Stream", "STREAM", await stream_names(session))


async def pick_consumer(session: Session, stream: str, name: str | None) -> str:
    if name:
        return whole(name, "CONSUMER")
    return ask.pick("Consumer", "CONSUMER", await consumer_names(session, stream))


def whole(name: str, what: str) -> str:
    """Names are tokens of subjects: one that is not could reach something else."""
    if any(character in name for character in " .*>/\\\t\r\n"):
        raise click.BadParameter(f"{name!r} cannot be a name", param_hint=what)
    return name


async def stream_infos(session: Session, subject: str = "") -> list[Json]:
    body = {"subject": subject} if subject else {}
    found = await session.pages("STREAM.LIST", "streams", body)
    return sorted(found, key=lambda info: str(info["config"]["name"]))


async def consumer_infos(session: Session, stream: str) -> list[Json]:
    found = await session.pages(f"CONSUMER.LIST.{stream}", "consumers")
    return sorted(found, key=lambda info: str(info["name"]))


class StreamName(click.ParamType[str]):
    """Completed with the streams that the server has."""

    name = "stream"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return _completed(ctx, incomplete, None)


class ConsumerName(click.ParamType[str]):
    """Completed with the consumers of the stream before it."""

    name = "consumer"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        stream = ctx.params.get("stream")
        return _completed(ctx, incomplete, stream) if stream else []


def _completed(ctx: click.Context, incomplete: str, stream: str | None) -> list[CompletionItem]:
    settings = ctx.find_object(Settings) or Settings()

    async def names() -> list[str]:
        session = await connect(settings)
        try:
            if stream:
                return await consumer_names(session, stream)
            return await stream_names(session)
        finally:
            await session.close()

    try:
        found = asyncio.run(names())
    except (click.ClickException, MigrateError):
        return []  # a shell that completes cannot show an error
    return [CompletionItem(name) for name in found if name.startswith(incomplete)]


def stream_argument(function: Any) -> Any:
    return click.argument("stream", required=False, type=StreamName())(function)


def consumer_arguments(function: Any) -> Any:
    function = click.argument("consumer", required=False, type=ConsumerName())(function)
    return stream_argument(function)
