"""The page as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tests.compat.catalogue import Behaviour, Difference

HEAD = """\
# Compatibility with nats-server 2.15.1

This page is written by `make compat` from the tests; `make test` fails when it is out of date.
Each row is a behaviour that a client or an operator can observe on nats-server. `yes` means that a
test carrying its id passes on jetstream-py; most of these tests pass on nats-server as well, in the
same run. `since` is the release of nats-server that brought the behaviour.
"""

AREAS = {
    "core": "Core protocol",
    "auth": "Users, permissions and accounts",
    "tls": "TLS",
    "websocket": "WebSocket",
    "config": "Configuration",
    "monitor": "Monitoring and system services",
    "js-stream": "JetStream: streams",
    "js-msg": "JetStream: reading, deleting, snapshots",
    "js-publish": "JetStream: publishing",
    "js-mirror": "JetStream: mirrors and sources",
    "js-consumer": "JetStream: consumers",
    "js-pull": "JetStream: pull and acks",
    "js-delivery": "JetStream: delivery and advisories",
    "kv": "Key/value buckets",
    "obj": "Object stores",
}

NOT_YET = "not yet"
ON_PURPOSE = "different"
PROVEN = "yes"


def render(
    known: dict[str, Behaviour],
    differences: Sequence[Difference],
    proofs: dict[str, list[str]],
) -> str:
    different = {row.id for row in differences}

    def status(row: Behaviour) -> str:
        if row.id in different:
            return ON_PURPOSE
        return PROVEN if proofs.get(row.id) else NOT_YET

    areas: dict[str, list[Behaviour]] = {area: [] for area in AREAS}
    for row in known.values():
        areas[row.area].append(row)

    parts = [HEAD, "## Summary\n", summary(areas, {row.id: status(row) for row in known.values()})]
    parts += ["## Different on purpose\n", difference_table(differences)]
    for area, rows in areas.items():
        body = [(row.id, row.since, row.statement, status(row), links(row, proofs)) for row in rows]
        head = ("id", "since", "behaviour", "here", "proven by")
        parts += [f"## {AREAS[area]}\n", table(head, body)]
    return "\n".join(parts)


def summary(areas: dict[str, list[Behaviour]], statuses: dict[str, str]) -> str:
    def line(title: str, rows: Iterable[Behaviour]) -> tuple[str, ...]:
        found = [statuses[row.id] for row in rows]
        counts = [found.count(kind) for kind in (PROVEN, ON_PURPOSE, NOT_YET)]
        return (title, *(str(count) for count in [*counts, len(found)]))

    body = [line(AREAS[area], rows) for area, rows in areas.items()]
    body.append(line("**all**", [row for rows in areas.values() for row in rows]))
    return table(("area", PROVEN, ON_PURPOSE, NOT_YET, "rows"), body)


def difference_table(differences: Sequence[Difference]) -> str:
    body = [(row.id, row.theirs, row.ours, row.why) for row in differences]
    return table(("id", "nats-server", "jetstream-py", "why"), body)


def links(row: Behaviour, proofs: dict[str, list[str]]) -> str:
    """The tests by name, linked to their files."""
    names = [test.partition("::") for test in sorted(proofs.get(row.id, []))]
    return ", ".join(f"[{name.rpartition('::')[2]}](../{file})" for file, _, name in names)


def table(head: Sequence[str], body: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *([escape(cell) for cell in row] for row in body)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def escape(cell: str) -> str:
    return cell.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*").replace("\\*\\*", "**")
