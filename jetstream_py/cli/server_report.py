"""`jetstream-py server report`: connections, accounts and JetStream of all servers, in tables."""

from __future__ import annotations

from typing import Final

import click

from jetstream_py.cli import show, units
from jetstream_py.cli.connect import Session, connected
from jetstream_py.cli.frame import Group
from jetstream_py.cli.system import gather
from jetstream_py.migrate.connection import Json

ACCOUNTS: Final = "$SYS.REQ.ACCOUNT.PING.STATZ"
COLUMNS: Final = (
    "CID",
    "Name",
    "Server",
    "IP",
    "Account",
    "Uptime",
    "In Msgs",
    "Out Msgs",
    "In Bytes",
    "Out Bytes",
    "Subs",
)
PAGE: Final = 1024  # connections a server tells of at once


@click.group("report", cls=Group, aliases=("rep",))
def command() -> None:
    """Tables about all servers."""


@command.command(
    "connections",
    aliases=("conn", "connz"),
    examples="jetstream-py server report connections 20 --sort out-msgs",
)
@click.argument("limit", type=click.IntRange(1), default=1000)
@click.option("--account", help="Only this account")
@click.option(
    "--sort",
    type=click.Choice(["in-bytes", "out-bytes", "in-msgs", "out-msgs", "subs", "uptime", "cid"]),
    default="out-bytes",
    help="Largest first",
)
@connected
async def connections(session: Session, limit: int, account: str | None, sort: str) -> None:
    """Show connections, LIMIT of them."""
    found: list[Json] = []
    offset = 0
    while True:
        body: Json = {"auth": True, "limit": PAGE, "offset": offset}
        if account:
            body["acc"] = account
        answers = await gather(session, "CONNZ", body)
        for answer in answers:
            server = answer["server"].get("name", "")
            found += [{**each, "server": server} for each in answer["data"]["connections"] or []]
        offset += PAGE
        if all(answer["data"]["total"] <= offset for answer in answers):
            break
    found.sort(key=lambda each: _key(each, sort), reverse=True)
    found = found[:limit]
    if session.json:
        show.data(found)
        return
    show.table("Connections", COLUMNS, [_connection(each) for each in found], right=COLUMNS[5:])


def _key(found: Json, sort: str) -> float:
    if sort == "uptime":
        start = units.parse_stamp(found["start"])
        return -start.timestamp() if start else 0
    field = {"subs": "subscriptions"}.get(sort, sort.replace("-", "_"))
    return float(found[field])


def _connection(found: Json) -> tuple[object, ...]:
    return (
        found["cid"],
        found.get("name", ""),
        found["server"],
        f"{found.get('ip', '')}:{found.get('port', '')}",
        found.get("account", ""),
        units.since(found["start"]),
        units.count(found["in_msgs"]),
        units.count(found["out_msgs"]),
        units.size(found["in_bytes"]),
        units.size(found["out_bytes"]),
        units.count(found["subscriptions"]),
    )


@command.command("accounts", aliases=("acct",), examples="jetstream-py server report accounts")
@connected
async def accounts(session: Session) -> None:
    """Show what accounts send, receive and subscribe to, over all servers."""
    answers = await gather(session, ACCOUNTS, {"include_unused": True})
    sums: dict[str, list[int]] = {}
    for answer in answers:
        for each in answer["data"]["account_statz"]:
            row = sums.setdefault(each["acc"], [0] * 6)
            for at, number in enumerate(_traffic(each)):
                row[at] += number
    if session.json:
        fields = ("conns", "in_msgs", "out_msgs", "in_bytes", "out_bytes", "subs")
        show.data({name: dict(zip(fields, row, strict=True)) for name, row in sorted(sums.items())})
        return
    columns = ("Account", "Connections", "In Msgs", "Out Msgs", "In Bytes", "Out Bytes", "Subs")
    rows = [
        (name, *map(units.count, row[:3]), *map(units.size, row[3:5]), units.count(row[5]))
        for name, row in sorted(sums.items(), key=lambda pair: -sum(pair[1][1:3]))
    ]
    show.table("Accounts", columns, rows, right=columns[1:])


def _traffic(found: Json) -> tuple[int, ...]:
    received, sent = found["received"], found["sent"]
    return (
        found["conns"],
        received["msgs"],
        sent["msgs"],
        received["bytes"],
        sent["bytes"],
        found["num_subscriptions"],
    )


@command.command(
    "jetstream", aliases=("js", "jsz"), examples="jetstream-py server report jetstream"
)
@connected
async def jetstream(session: Session) -> None:
    """Show what servers store."""
    answers = await gather(session, "JSZ")
    if session.json:
        show.data([{**answer["data"], "server": answer["server"]} for answer in answers])
        return
    columns = (
        "Server",
        "Streams",
        "Consumers",
        "Messages",
        "Bytes",
        "Memory",
        "File",
        "API Req",
        "API Err",
    )
    rows = []
    for answer in answers:
        found = answer["data"]
        counts = [units.count(found.get(name, 0)) for name in ("streams", "consumers", "messages")]
        sizes = [units.size(found.get(name, 0)) for name in ("bytes", "memory", "storage")]
        api = found.get("api") or {}
        calls = [units.count(api.get(name, 0)) for name in ("total", "errors")]
        rows.append((answer["server"].get("name", ""), *counts, *sizes, *calls))
    show.table("JetStream Summary", columns, rows, right=columns[1:])
