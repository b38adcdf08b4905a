"""A stream's configuration from options and answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import click

from jetstream_py.cli import ask, config_file, units
from jetstream_py.cli.config_file import PAIRS, Field
from jetstream_py.cli.frame import DURATION, SIZE
from jetstream_py.migrate.connection import Json

COUNT: Final = click.IntRange(-1)
RETENTION: Final = {"limits": "limits", "interest": "interest", "work": "workqueue"}
# What can be changed later; fields may be refused by a server all the same.
FIELDS: Final[tuple[Field, ...]] = (
    ("subjects", "subjects", list, "Subjects it takes; may be repeated, or separated by commas"),
    ("description", "description", str, "A text for people"),
    ("replicas", "num_replicas", click.IntRange(1), "Copies in a cluster"),
    ("compression", "compression", click.Choice(["none", "s2"]), "Of the file"),
    ("discard", "discard", click.Choice(["old", "new"]), "What goes when it is full"),
    ("discard-per-subject", "discard_new_per_subject", bool, "--discard new for each subject"),
    ("max-msgs", "max_msgs", COUNT, "Most messages; -1 for no limit"),
    ("max-msgs-per-subject", "max_msgs_per_subject", COUNT, "Most messages of a subject"),
    ("max-bytes", "max_bytes", SIZE, "Largest size of all messages"),
    ("max-age", "max_age", DURATION, "Messages older than this go"),
    ("max-msg-size", "max_msg_size", SIZE, "Largest message"),
    ("max-consumers", "max_consumers", COUNT, "Most consumers"),
    ("dupe-window", "duplicate_window", DURATION, "How long message ids are remembered"),
    ("allow-batch", "allow_atomic", bool, "Atomic batches"),
    ("allow-fast", "allow_batched", bool, "Fast batches"),
    ("allow-counter", "allow_msg_counter", bool, "Messages add up"),
    ("allow-rollup", "allow_rollup_hdrs", bool, "Nats-Rollup"),
    ("allow-direct", "allow_direct", bool, "Direct get"),
    ("allow-mirror-direct", "mirror_direct", bool, "Direct get answered by mirrors"),
    ("allow-msg-ttl", "allow_msg_ttl", bool, "Nats-TTL"),
    ("allow-schedules", "allow_msg_schedules", bool, "Message schedules"),
    ("subject-del-markers-ttl", "subject_delete_marker_ttl", DURATION, "Life of delete markers"),
    ("deny-delete", "deny_delete", bool, "No deletes of messages"),
    ("deny-purge", "deny_purge", bool, "No purges"),
    ("transform-source", "subject_transform.src", str, "Subjects to transform"),
    ("transform-destination", "subject_transform.dest", str, "What they become"),
    ("republish-source", "republish.src", str, "Subjects to publish again"),
    ("republish-destination", "republish.dest", str, "Where to"),
    ("republish-headers", "republish.headers_only", bool, "Without bodies"),
    ("limit-consumer-inactive", "consumer_limits.inactive_threshold", DURATION, "Of consumers"),
    ("limit-consumer-max-pending", "consumer_limits.max_ack_pending", COUNT, "Of consumers"),
    ("cluster", "placement.cluster", str, "Cluster to be in"),
    ("tag", "placement.tags", list, "Tags of servers to be on"),
    ("metadata", "metadata", PAIRS, "Notes of yours; may be repeated"),
)
AT_FIRST: Final[tuple[Field, ...]] = (
    ("storage", "storage", click.Choice(["file", "memory"]), "Where messages are"),
    ("first-sequence", "first_seq", click.IntRange(1), "Sequence of the first message"),
    ("persist-mode", "persist_mode", click.Choice(["default", "async"]), "When it is on disk"),
)
DEFAULTS: Final[Json] = {
    "retention": "limits",
    "storage": "file",
    "discard": "old",
    "num_replicas": 1,
    "max_msgs": -1,
    "max_msgs_per_subject": -1,
    "max_bytes": -1,
    "max_age": 0,
    "max_msg_size": -1,
    "max_consumers": -1,
    "duplicate_window": 2 * units.MINUTE,
    "allow_direct": True,
}
# flag, field, question, how to read the answer, default
QUESTIONS: Final[tuple[tuple[str, str, str, Callable[[str], Any], str], ...]] = (
    ("--max-msgs", "max_msgs", "Most messages", int, "-1"),
    ("--max-msgs-per-subject", "max_msgs_per_subject", "Most per subject", int, "-1"),
    ("--max-bytes", "max_bytes", "Total size", units.parse_size, "-1"),
    ("--max-age", "max_age", "Message age", units.parse_duration, "-1"),
    ("--max-msg-size", "max_msg_size", "Message size", units.parse_size, "-1"),
    ("--dupe-window", "duplicate_window", "Duplicate window", units.parse_duration, "2m"),
)


def special_options(function: Any) -> Any:
    """Options whose value is not that of a field."""
    choice = click.Choice([*RETENTION, "workqueue"])
    for option in (
        click.option("--retention", type=choice, help="What keeps messages"),
        click.option("--ack/--no-ack", default=None, help="Answer publishes"),
        click.option("--mirror", metavar="STREAM", help="Be a copy of a stream"),
        click.option("--source", multiple=True, metavar="STREAM", help="Take messages of streams"),
    ):
        function = option(function)
    return function


def apply(config: Json, given: dict[str, Any], fields: tuple[Field, ...]) -> bool:
    """What options say; whether they say anything."""
    any_given = config_file.apply(config, fields, given)
    if given["retention"]:
        config["retention"] = RETENTION.get(given["retention"], given["retention"])
    if given["ack"] is not None:
        config["no_ack"] = not given["ack"]
    if given["mirror"]:
        config["mirror"] = {"name": given["mirror"]}
    if given["source"]:
        config["sources"] = [{"name": name} for name in given["source"]]
    special = (given["retention"], given["mirror"], given["source"])
    return any_given or any(special) or given["ack"] is not None


def interview(config: Json) -> None:
    """Ask for what nobody has said yet."""
    if not (config.get("subjects") or config.get("mirror") or config.get("sources")):
        answer = ask.text("Subjects", "--subjects")
        config["subjects"] = answer.replace(",", " ").split()
    for field, label, choices in (
        ("storage", "Storage", ("file", "memory")),
        ("retention", "Retention policy", tuple(RETENTION)),
        ("discard", "Discard policy", ("old", "new")),
    ):
        if field not in config:
            answer = ask.choice(label, f"--{field}", choices, choices[0])
            config[field] = RETENTION.get(answer, answer)
    for flag, field, label, parse, default in QUESTIONS:
        if field not in config:
            config[field] = ask.parsed(label, flag, parse, default)
