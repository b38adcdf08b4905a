"""`jetstream-py account`: who we are to the server, and what we may store."""

from __future__ import annotations

import time
from typing import Any

import click

from jetstream_py.cli import show, units
from jetstream_py.cli.connect import Session, connected, without_secrets
from jetstream_py.cli.frame import Group
from jetstream_py.migrate.connection import Json
from jetstream_py.migrate.errors import ApiError, MigrateError


@click.group("account", cls=Group)
def command() -> None:
    """The account of the connection."""


@command.command(
    "info",
    examples="""jetstream-py account info
    jetstream-py account info --json --creds user.creds""",
)
@connected
async def info(session: Session) -> None:
    """Show the connection, and what the account stores and may store."""
    begin = time.monotonic_ns()
    await session.flush(timeout=session.settings.seconds)  # type: ignore[arg-type]
    round_trip = time.monotonic_ns() - begin
    user = await user_info(session)
    try:
        stored: Json | None = await session.api("INFO")
    except ApiError as error:
        stored, why = None, error.description
    if session.json:
        show.data({"user": user, "server": session.server_info, "jetstream": stored})
        return
    sections = [("", connection_facts(session, user, round_trip))]
    sections += usage_sections(stored) if stored else [("JetStream", [("Available", f"no: {why}")])]
    show.facts("Account Information", sections)


async def user_info(session: Session) -> Json:
    """Empty where the user may not ask, or the server is older than the question."""
    try:
        answer = session.answer("INFO", await session.ask("$SYS.REQ.USER.INFO", b""))
    except MigrateError:
        return {}
    found: Json = answer.get("data") or {}
    return found


def connection_facts(session: Session, user: Json, round_trip: int) -> list[tuple[str, object]]:
    server = session.server_info
    return [
        ("User", user.get("user")),
        ("Account", user.get("account")),
        ("Client ID", server.get("client_id")),
        ("Client IP", server.get("client_ip")),
        ("RTT", units.duration(round_trip)),
        ("Headers Supported", server.get("headers", False)),
        ("Maximum Payload", units.size(server.get("max_payload", 0))),
        ("Connected URL", _url(session)),
        ("Connected Server ID", server.get("server_id")),
        ("Connected Server Name", server.get("server_name")),
        ("Connected Server Version", server.get("version")),
        ("TLS Connection", "yes" if server.get("tls_required") else "no"),
    ]


def _url(session: Session) -> str | None:
    url = session.connected_url
    return without_secrets(url.geturl()) if url else None


def usage_sections(stored: Json) -> list[tuple[str, list[tuple[str, object]]]]:
    limits = stored["limits"]
    usage: list[tuple[str, object]] = [
        ("Storage", f"{units.size(stored['storage'])} of {_bytes(limits['max_storage'])}"),
        ("Memory", f"{units.size(stored['memory'])} of {_bytes(limits['max_memory'])}"),
        ("Streams", f"{units.count(stored['streams'])} of {_count(limits['max_streams'])}"),
        ("Consumers", f"{units.count(stored['consumers'])} of {_count(limits['max_consumers'])}"),
        ("Domain", stored.get("domain") or None),
        ("API Requests", units.count(stored["api"]["total"])),
        ("API Errors", units.count(stored["api"]["errors"])),
    ]
    return [
        ("JetStream", usage),
        (
            "Limits",
            [
                ("Storage Per Stream", _per_stream(limits.get("storage_max_stream_bytes"))),
                ("Memory Per Stream", _per_stream(limits.get("memory_max_stream_bytes"))),
                ("Maximum Ack Pending", _count(limits.get("max_ack_pending", -1))),
                ("Stream Requires Max Bytes", limits.get("max_bytes_required", False)),
            ],
        ),
    ]


def _bytes(limit: int) -> str:
    return "unlimited" if limit < 0 else units.size(limit)


def _count(limit: int) -> str:
    return "unlimited" if limit < 0 else units.count(limit)


def _per_stream(limit: Any) -> str:
    return units.limit(limit or 0, units.size)
