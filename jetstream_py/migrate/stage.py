"""Configurations: as a stream had it, as it will have it, and the stage on which it is built.

The stage takes messages from a subject of this run alone and stores them under the subjects they had. It
has no limits, so nothing goes before it was compared, and the order in which limits and messages come
does not matter. What no update can change later (storage, retention of a work queue, counters) is there
from the beginning.
"""

from __future__ import annotations

from typing import Any, Final

from jetstream_py.migrate.connection import Json

NOTE: Final = "_jetstream_py.migrate"  # how the stream is being filled
SOURCE: Final = "_jetstream_py.migrate.source"  # from what
INTAKE: Final = "_jetstream_py.migrate"  # what subjects of stages begin with
GAP: Final = "_jetstream_py.migrate.gap"  # subject of messages that stand for deleted ones
DEDUPE_NS: Final = 100_000_000  # the shortest window there is

_OPEN: Final[Json] = {
    "max_msgs": -1,
    "max_bytes": -1,
    "max_age": 0,
    "max_msgs_per_subject": -1,
    "max_msg_size": -1,
    "discard": "old",
    "discard_new_per_subject": False,
    "duplicate_window": DEDUPE_NS,
    "subject_delete_marker_ttl": 0,
    "deny_delete": False,
    "deny_purge": False,
    "no_ack": False,
    "allow_direct": True,
}
_OF_SERVER: Final = "_nats."  # metadata that servers write


def wanted(config: Json, name: str, renames: dict[str, str], replicas: int) -> Json:
    """What the stream shall have at the target in the end."""
    found = {key: value for key, value in config.items() if key not in ("template_owner",)}
    found["name"] = name
    found["metadata"] = own_metadata(config)
    if replicas:
        found["num_replicas"] = replicas
    if mirror := config.get("mirror"):
        found["mirror"] = {**mirror, "name": renames.get(mirror["name"], mirror["name"])}
    if config["name"] != name and (old := kv_bucket(config["name"])):
        new = kv_bucket(name)
        moved = [moved_key(subject, old, new) for subject in config.get("subjects") or []]
        found["subjects"] = moved
    return found


def own_metadata(config: Json) -> dict[str, str]:
    metadata: dict[str, str] = config.get("metadata") or {}
    return {
        key: value
        for key, value in metadata.items()
        if not key.startswith(_OF_SERVER) and key not in (NOTE, SOURCE)
    }


def kv_bucket(stream: str) -> str:
    return stream.removeprefix("KV_") if stream.startswith("KV_") else ""


def moved_key(subject: str, old: str, new: str) -> str:
    """The subject of a key in a bucket that has another name."""
    start = f"$KV.{old}."
    return f"$KV.{new}.{subject[len(start) :]}" if subject.startswith(start) else subject


def continued(final: Json, reached: dict[tuple[str, str], int]) -> Json:
    """Sources that go on behind the last message of theirs, by name and filter, that is there.

    The messages say so themselves, but name an origin by its identity, too, and the target's is another.
    """
    found = []
    for origin in final["sources"]:
        origin = dict(origin)
        seq = reached.get((origin["name"], origin.get("filter_subject") or ">"), 0)
        if seq >= origin.get("opt_start_seq", 0) and seq:
            origin.pop("opt_start_time", None)
            origin["opt_start_seq"] = seq + 1
        found.append(origin)
    return {**final, "sources": found}


def staged(final: Json, how: str, source: str, run: str, keep_max_bytes: bool) -> Json:
    """The configuration while the stream is being filled. `how` is for the note."""
    noted = {**final, "sealed": False}
    noted["metadata"] = {**final["metadata"], NOTE: how, SOURCE: source}
    if final.get("mirror"):
        return noted  # no update could make it one later
    stage = {**noted, **_OPEN, "subjects": [f"{INTAKE}.{run}.>"]}
    for active in ("republish", "subject_transform", "sources"):
        stage.pop(active, None)
    if final.get("retention") == "interest":
        stage["retention"] = "limits"  # without consumers it would keep nothing
    if keep_max_bytes:
        stage["max_bytes"] = final["max_bytes"]
    if publishes(how):
        stage["subject_transform"] = {"src": f"{INTAKE}.{run}.>", "dest": ">"}
        stage["allow_rollup_hdrs"] = True
    return stage


def publishes(how: str) -> bool:
    """Has a stream with this note got messages by publishing?"""
    return how.endswith("copy")


def note(config: Json) -> tuple[str, str]:
    """How, and from what, a stream is being filled; empty for those that are not ours."""
    metadata = config.get("metadata") or {}
    return metadata.get(NOTE, ""), metadata.get(SOURCE, "")


def without(config: Json, fields: set[str]) -> Json:
    return {key: value for key, value in config.items() if key not in fields}


def ignored(asked: Json, got: Json) -> list[str]:
    """Fields that a server has passed over: one that does not know them."""

    def plain(key: str, value: Any) -> Any:
        return own_metadata({"metadata": value}) if key == "metadata" else value

    return sorted(
        key
        for key, value in asked.items()
        if plain(key, value) and plain(key, value) != plain(key, got.get(key))
    )
