"""`jetstream-py server`: what the system account tells of servers, and checks for monitoring."""

from __future__ import annotations

import click

from jetstream_py.cli import server_check, server_report, show, units
from jetstream_py.cli.connect import Session, connected
from jetstream_py.cli.frame import Group
from jetstream_py.cli.system import gather, one
from jetstream_py.migrate.connection import Json


@click.group("server", cls=Group, aliases=("srv", "sys"))
def command() -> None:
    """Servers: list, ping, look at and check them.

    All but `check` need a user of the system account.
    """


@command.command(
    "list", aliases=("ls",), examples="jetstream-py server list --user admin --password x"
)
@click.argument("expect", type=click.IntRange(0), default=0)
@connected
async def list_servers(session: Session, expect: int) -> None:
    """List servers, fastest answer first; EXPECT says how many there must be."""
    answers = await gather(session, "", expect=expect)
    if session.json:
        show.data(answers)
        return
    columns = (
        "Name",
        "Cluster",
        "Version",
        "JS",
        "Conns",
        "Subs",
        "Mem",
        "CPU %",
        "Slow",
        "Uptime",
        "RTT",
    )
    rows = [_row(answer) for answer in answers]
    show.table("Server Overview", columns, rows, right=columns[4:])


def _row(answer: Json) -> tuple[object, ...]:
    server, stats = answer["server"], answer["statsz"]
    return (
        server.get("name", ""),
        server.get("cluster", ""),
        server.get("ver", ""),
        "yes" if server.get("jetstream") else "no",
        units.count(stats["connections"]),
        units.count(stats["subscriptions"]),
        units.size(stats["mem"]),
        f"{stats['cpu']:.0f}",
        units.count(stats["slow_consumers"]),
        units.since(stats["start"]),
        units.duration(answer["rtt"]),
    )


@command.command("ping", examples="jetstream-py server ping 3")
@click.argument("expect", type=click.IntRange(0), default=0)
@connected
async def ping(session: Session, expect: int) -> None:
    """Ask all servers for a sign of life; EXPECT says how many there must be."""
    answers = await gather(session, "", expect=expect)
    times = [answer["rtt"] for answer in answers]
    if session.json:
        show.data([{"name": each["server"].get("name"), "rtt": each["rtt"]} for each in answers])
        return
    for answer in answers:
        show.line(
            f"{show.safe(answer['server'].get('name', '')):<55} {units.duration(answer['rtt'])}"
        )
    least, most, mean = min(times), max(times), sum(times) // len(times)
    parts = [units.duration(number) for number in (least, most, mean)]
    show.line(f"\n{len(times)} replies: min {parts[0]} max {parts[1]} avg {parts[2]}")


@command.command("info", aliases=("i",), examples="jetstream-py server info my-server")
@click.argument("name", required=False, metavar="[SERVER]")
@connected
async def info(session: Session, name: str | None) -> None:
    """Show SERVER, by its name or id; the one we are connected to without."""
    answer = await one(session, "VARZ", name)
    if session.json:
        show.data(answer["data"])
        return
    found = answer["data"]
    show.facts(
        f"Server information for {found['server_name']} ({found['server_id']})",
        [
            ("Process", _process(found)),
            ("Connection", _connection(found)),
            ("JetStream", _jetstream(found.get("jetstream") or {})),
            ("Limits", _limits(found)),
            ("Statistics", _statistics(found)),
        ],
    )


def _process(found: Json) -> show.Facts:
    return [
        ("Version", found["version"]),
        ("Go Version", found.get("go") or None),
        ("Start Time", units.stamp(found["start"])),
        ("Configuration Load Time", units.stamp(found["config_load_time"])),
        ("Uptime", units.since(found["start"])),
    ]


def _connection(found: Json) -> show.Facts:
    cluster = (found.get("cluster") or {}).get("name")
    return [
        ("Host", f"{found['host']}:{found['port']}"),
        ("Auth Required", found.get("auth_required", False)),
        ("TLS Required", found.get("tls_required", False)),
        ("Cluster", cluster or None),
    ]


def _jetstream(found: Json) -> show.Facts:
    config = found.get("config")
    if not config:
        return [("Enabled", False)]
    return [
        ("Domain", config.get("domain") or None),
        ("Storage Directory", config.get("store_dir")),
        ("Max Memory", units.size(config.get("max_memory", 0))),
        ("Max File", units.size(config.get("max_storage", 0))),
        ("Sync Always", config.get("sync_always") or None),
    ]


def _limits(found: Json) -> show.Facts:
    return [
        ("Max Connections", units.count(found["max_connections"])),
        ("Max Subscriptions", units.limit(found.get("max_subscriptions", 0))),
        ("Max Payload", units.size(found["max_payload"])),
        ("TLS Timeout", f"{found['tls_timeout']:g}s"),
        ("Write Deadline", units.duration(found["write_deadline"])),
    ]


def _statistics(found: Json) -> show.Facts:
    return [
        ("CPU Cores", found["cores"]),
        ("CPU Usage", f"{found['cpu']:.1f}%"),
        ("Memory Usage", units.size(found["mem"])),
        ("Connections", units.count(found["connections"])),
        ("Subscriptions", units.count(found["subscriptions"])),
        ("Messages", f"{found['in_msgs']:,} in {found['out_msgs']:,} out"),
        ("Bytes", f"{units.size(found['in_bytes'])} in {units.size(found['out_bytes'])} out"),
        ("Slow Consumers", units.count(found["slow_consumers"])),
    ]


command.add_command(server_report.command)
command.add_command(server_check.command)
