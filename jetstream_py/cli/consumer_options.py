"""A consumer's configuration from options and answers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final

import click

from jetstream_py.cli import ask, config_file, units
from jetstream_py.cli.config_file import PAIRS, Field
from jetstream_py.cli.frame import DURATION, SIZE
from jetstream_py.migrate.connection import Json

ACK: Final = ("explicit", "none", "all", "flow_control")
# What can be changed later.
FIELDS: Final[tuple[Field, ...]] = (
    ("description", "description", str, "A text for people"),
    ("wait", "ack_wait", DURATION, "How long to wait for an ack"),
    ("max-deliver", "max_deliver", click.IntRange(-1), "Most deliveries of a message"),
    ("max-pending", "max_ack_pending", click.IntRange(-1), "Most messages without an ack"),
    ("max-waiting", "max_waiting", click.IntRange(1), "Most pull requests that wait"),
    ("max-pull-batch", "max_batch", click.IntRange(1), "Largest batch of a pull request"),
    ("max-pull-expire", "max_expires", DURATION, "Longest pull request"),
    ("max-pull-bytes", "max_bytes", SIZE, "Most bytes of a pull request"),
    ("headers-only", "headers_only", bool, "Without bodies"),
    ("target", "deliver_subject", str, "Push to this subject"),
    ("inactive-threshold", "inactive_threshold", DURATION, "Goes away unused after this time"),
    ("replicas", "num_replicas", click.IntRange(0), "Copies in a cluster; 0: as the stream"),
    ("metadata", "metadata", PAIRS, "Notes of yours; may be repeated"),
)
AT_FIRST: Final[tuple[Field, ...]] = (
    ("ack", "ack_policy", click.Choice(ACK), "What counts as done"),
    ("replay", "replay_policy", click.Choice(["instant", "original"]), "How fast"),
    ("deliver-group", "deliver_group", str, "Queue group of a push consumer"),
    ("flow-control", "flow_control", bool, "Of a push consumer; with --heartbeat"),
    ("heartbeat", "idle_heartbeat", DURATION, "Of a push consumer"),
    ("bps", "rate_limit_bps", click.IntRange(1), "Bits per second of a push consumer"),
    ("memory", "mem_storage", bool, "State in memory"),
)
GROUPS: Final = {
    "pinned_groups": "pinned_client",
    "overflow_groups": "overflow",
    "prioritized_groups": "prioritized",
}
STARTS: Final = {
    "all": "all",
    "new": "new",
    "last": "last",
    "subject": "last_per_subject",
}


def changeable_options(function: Any) -> Any:
    """Options of `add` and `edit` whose value is not that of a field."""
    for option in (
        click.option("--filter", "filters", multiple=True, metavar="SUBJECT", help="Only these"),
        click.option("--sample", type=click.IntRange(0, 100), help="Percent of acks to report"),
        click.option(
            "--backoff",
            multiple=True,
            type=DURATION,
            help="Wait before each delivery after the first; may be repeated",
        ),
    ):
        function = option(function)
    return function


def first_options(function: Any) -> Any:
    """Options of `add` alone."""
    for option in (
        click.option("--pull", is_flag=True, help="A pull consumer (default without --target)"),
        click.option("--ephemeral", is_flag=True, help="Goes away when nobody uses it"),
        click.option(
            "--deliver", help="Where to begin: all, new, last, subject, 1h, a time, a sequence"
        ),
        click.option("--pause", help="Wait for so long, or until a time"),
        click.option("--pinned-ttl", type=DURATION, help="How long a client may be silent"),
        *(
            click.option(f"--{name.replace('_', '-')}", multiple=True, help="Priority groups")
            for name in GROUPS
        ),
    ):
        function = option(function)
    return function


def apply_changeable(config: Json, given: dict[str, Any], fields: tuple[Field, ...]) -> bool:
    """What options say; whether they say anything."""
    any_given = config_file.apply(config, fields, given)
    filters = [part for text in given["filters"] for part in text.replace(",", " ").split()]
    if filters:
        config.pop("filter_subject", None)
        config.pop("filter_subjects", None)
        config |= _filter(filters)
    if given["sample"] is not None:
        config["sample_freq"] = str(given["sample"])
    if given["backoff"]:
        config["backoff"] = list(given["backoff"])
    return any_given or bool(filters or given["backoff"]) or given["sample"] is not None


def _filter(subjects: list[str]) -> Json:
    if len(subjects) == 1:
        return {"filter_subject": subjects[0]}
    return {"filter_subjects": subjects}


def apply_first(config: Json, given: dict[str, Any]) -> None:
    if given["pull"] and config.get("deliver_subject"):
        raise click.UsageError("--pull and --target exclude each other")
    if given["deliver"]:
        config |= start(given["deliver"])
    if given["pause"]:
        config["pause_until"] = until(given["pause"])
    for option, policy in GROUPS.items():
        if given[option]:
            config |= {"priority_policy": policy, "priority_groups": list(given[option])}
    if given["pinned_ttl"]:
        config["priority_timeout"] = given["pinned_ttl"]


def start(text: str) -> Json:
    """Where to begin. Raises `click.BadParameter`."""
    if text in STARTS:
        return {"deliver_policy": STARTS[text]}
    if text.isdecimal() and int(text):
        return {"deliver_policy": "by_start_sequence", "opt_start_seq": int(text)}
    try:
        when = units.parse_time(text)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--deliver") from None
    return {"deliver_policy": "by_start_time", "opt_start_time": units.rfc3339(when)}


def until(text: str) -> str:
    """A time to come, given as such or as how long from now."""
    try:
        now = datetime.now(UTC)
        wait = timedelta(seconds=units.parse_duration(text) / units.SECOND)
        return units.rfc3339(now + wait)
    except ValueError:
        pass
    try:
        return units.rfc3339(units.parse_time(text))
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="UNTIL") from None


def interview(config: Json, pull: bool) -> None:
    """Ask for what nobody has said yet."""
    if not pull and "deliver_subject" not in config:
        target = ask.text("Delivery target (empty for pull)", "--target", "")
        if target:
            config["deliver_subject"] = target
    if "deliver_policy" not in config:
        label = "Start policy (all, new, last, subject, 1h, a sequence)"
        config |= ask.parsed(label, "--deliver", _start, "all")
    if "ack_policy" not in config:
        default = "none" if config.get("deliver_subject") else "explicit"
        config["ack_policy"] = ask.choice("Ack policy", "--ack", ACK, default)
    if "replay_policy" not in config:
        choices = ("instant", "original")
        config["replay_policy"] = ask.choice("Replay policy", "--replay", choices, "instant")
    if "filter_subject" not in config and "filter_subjects" not in config:
        answer = ask.text("Filter by subjects (empty for all)", "--filter", "")
        if subjects := answer.replace(",", " ").split():
            config |= _filter(subjects)
    if "max_deliver" not in config:
        config["max_deliver"] = ask.parsed("Most deliveries", "--max-deliver", int, "-1")


def _start(text: str) -> Json:
    try:
        return start(text)
    except click.BadParameter as error:
        raise ValueError(error.message) from None
