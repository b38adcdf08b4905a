"""Consumers in scenarios: requests to create one, and what is refused."""

from __future__ import annotations

import json

import pytest

from tests.jetstream.support import JetStream, Json

MS = 1_000_000
EXPLICIT: Json = {"ack_policy": "explicit"}
PUSH: Json = {"deliver_subject": "d"}


def body(stream: str, config: Json, action: str = "", pedantic: bool = False) -> Json:
    request: Json = {"stream_name": stream, "config": config}
    if action:
        request["action"] = action
    return request | {"pedantic": True} if pedantic else request


def add(js: JetStream, stream: str, name: str, config: Json | None = None, **more: object) -> Json:
    """Create or change a consumer."""
    return js.ok(f"CONSUMER.CREATE.{stream}.{name}", body(stream, {**(config or {}), **more}))


def refused(
    js: JetStream,
    stream: str,
    name: str,
    config: Json,
    action: str = "",
    pedantic: bool = False,
) -> Json:
    request = body(stream, config, action, pedantic)
    return js.refused(f"CONSUMER.CREATE.{stream}.{name}", request)


def info(js: JetStream, stream: str, name: str) -> Json:
    return js.ok(f"CONSUMER.INFO.{stream}.{name}")


def names(js: JetStream, stream: str, **options: object) -> list[str]:
    found: list[str] = js.ok(f"CONSUMER.NAMES.{stream}", options or None)["consumers"]
    return found


def proves(row: str) -> list[pytest.MarkDecorator]:
    """Not every case has a row in the catalogue."""
    return [pytest.mark.behaviour(row)] if row else []


def label(*values: object) -> str:
    return json.dumps(values)[:120]
