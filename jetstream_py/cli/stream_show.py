"""A stream as people read it."""

from __future__ import annotations

from collections.abc import Sequence

from jetstream_py.cli import show, units
from jetstream_py.migrate.connection import Json


def print_stream(info: Json, title: str = "") -> None:
    config, created = info["config"], units.stamp(info["created"])
    show.facts(
        title or f"Information for Stream {config['name']} created {created}",
        [
            ("", _basics(config)),
            ("Options", _options(config)),
            ("Limits", _limits(config)),
            ("Mirror", _mirror(info)),
            ("Sources", _sources(info)),
            ("Metadata", _metadata(config)),
            ("State", state_facts(info["state"])),
        ],
    )


def word(value: str) -> str:
    """`by_start_time` → `By Start Time`."""
    return value.replace("_", " ").title()


def _basics(config: Json) -> show.Facts:
    return [
        ("Description", config.get("description")),
        ("Subjects", ", ".join(config.get("subjects") or []) or None),
        ("Replicas", config["num_replicas"]),
        ("Storage", word(config["storage"])),
        ("Compression", _given(config, "compression", "none")),
        ("Placement", _placement(config)),
        ("Sealed", config.get("sealed") or None),
    ]


def _given(config: Json, name: str, plain: str) -> str | None:
    value = config.get(name)
    return word(value) if value and value != plain else None


def _placement(config: Json) -> str | None:
    place = config.get("placement") or {}
    parts = [place.get("cluster", ""), " ".join(place.get("tags") or [])]
    return " ".join(part for part in parts if part) or None


def _options(config: Json) -> show.Facts:
    transform, republish = config.get("subject_transform"), config.get("republish")
    marker = config.get("subject_delete_marker_ttl")
    return [
        ("Retention", word(config["retention"])),
        ("Acknowledgments", not config.get("no_ack", False)),
        ("Discard Policy", word(config["discard"])),
        ("Discard New Per Subject", config.get("discard_new_per_subject") or None),
        ("Duplicate Window", units.duration(config.get("duplicate_window", 0))),
        ("Direct Get", config.get("allow_direct", False)),
        ("Mirror Direct Get", config.get("mirror_direct") or None),
        ("Allows Atomic Batch Publish", config.get("allow_atomic", False)),
        ("Allows Fast Batch Publish", config.get("allow_batched", False)),
        ("Allows Counters", config.get("allow_msg_counter", False)),
        ("Allows Msg Delete", not config.get("deny_delete", False)),
        ("Allows Per-Message TTL", config.get("allow_msg_ttl", False)),
        ("Delete Markers TTL", units.duration(marker) if marker else None),
        ("Allows Purge", not config.get("deny_purge", False)),
        ("Allows Schedules", config.get("allow_msg_schedules", False)),
        ("Allows Rollups", config.get("allow_rollup_hdrs", False)),
        ("Subject Transform", f"{transform['src']} to {transform['dest']}" if transform else None),
        ("Republishing", f"{republish['src']} to {republish['dest']}" if republish else None),
    ]


def _limits(config: Json) -> show.Facts:
    consumer = config.get("consumer_limits") or {}
    inactive = consumer.get("inactive_threshold")
    return [
        ("Maximum Messages", units.limit(config["max_msgs"])),
        ("Maximum Per Subject", units.limit(config.get("max_msgs_per_subject", -1))),
        ("Maximum Bytes", units.limit(config["max_bytes"], units.size)),
        ("Maximum Age", units.limit(config["max_age"], units.duration)),
        ("Maximum Message Size", units.limit(config.get("max_msg_size", -1), units.size)),
        ("Maximum Consumers", units.limit(config["max_consumers"])),
        ("Consumer Inactive Threshold", units.duration(inactive) if inactive else None),
        ("Consumer Max Ack Pending", consumer.get("max_ack_pending")),
    ]


def _mirror(info: Json) -> show.Facts:
    mirror = info.get("mirror")
    return _origin(mirror) if mirror else []


def _sources(info: Json) -> show.Facts:
    facts: list[tuple[str, object]] = []
    for source in info.get("sources") or []:
        facts += _origin(source)
    return facts


def _origin(origin: Json) -> list[tuple[str, object]]:
    active = origin.get("active", -1)
    error = (origin.get("error") or {}).get("description")
    return [
        ("Stream", origin["name"]),
        ("Filter", origin.get("filter_subject") or None),
        ("Lag", units.count(origin.get("lag", 0))),
        ("Last Seen", units.duration(active) if active >= 0 else "never"),
        ("Error", error),
    ]


def _metadata(config: Json) -> show.Facts:
    return sorted(
        (name, value)
        for name, value in (config.get("metadata") or {}).items()
        if not name.startswith("_nats.")
    )


def state_facts(state: Json) -> Sequence[tuple[str, object]]:
    deleted, lost = state.get("num_deleted"), state.get("lost")
    return [
        ("Messages", units.count(state["messages"])),
        ("Bytes", units.size(state["bytes"])),
        ("First Sequence", _at(state, "first")),
        ("Last Sequence", _at(state, "last")),
        ("Deleted Messages", units.count(deleted) if deleted else None),
        ("Lost Messages", units.count(len(lost.get("msgs") or [])) if lost else None),
        ("Active Consumers", units.count(state["consumer_count"])),
        ("Number of Subjects", units.count(state.get("num_subjects", 0))),
    ]


def _at(state: Json, end: str) -> str:
    when = units.parse_stamp(state[f"{end}_ts"])
    seq = units.count(state[f"{end}_seq"])
    empty = when is None or when.year <= 1970
    return seq if empty else f"{seq} @ {units.stamp(state[f'{end}_ts'])}"
