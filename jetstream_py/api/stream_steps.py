"""The rules for one field, or for a few that must fit together.

Each step takes the draft of a configuration, corrects it or refuses it.
"""

from __future__ import annotations

from jetstream_py.api.errors import E, error, invalid_config
from jetstream_py.api.reservation import check_reservation, most_bytes
from jetstream_py.api.stream_rules import (
    DUPLICATE_WINDOW,
    MAX_DESCRIPTION,
    MAX_METADATA,
    MAX_NAME,
    MAX_REPLICAS,
    SECOND,
    SHORTEST,
    Rules,
    Step,
)
from jetstream_py.api.types import AccountLimits, Placement, StreamConfig
from jetstream_py.gotext import duration


def check_name(draft: StreamConfig, step: Step) -> None:
    if not draft.name or any(char in draft.name for char in " \t\r\n\f.*>/\\"):
        raise invalid_config("stream name is required and can not contain '.', '*', '>', '\\', '/'")
    if len(draft.name.encode()) > MAX_NAME:
        raise invalid_config(f"stream name is too long, maximum allowed is {MAX_NAME}")


def check_description(draft: StreamConfig, step: Step) -> None:
    if len(draft.description.encode()) > MAX_DESCRIPTION:
        raise invalid_config(
            f"stream description is too long, maximum allowed is {MAX_DESCRIPTION}"
        )


def check_metadata(draft: StreamConfig, step: Step) -> None:
    size = sum(len(key.encode()) + len(value.encode()) for key, value in draft.metadata.items())
    if size > MAX_METADATA:
        raise invalid_config(f"stream metadata exceeds maximum size of {MAX_METADATA} bytes")


def check_replicas(draft: StreamConfig, step: Step) -> None:
    if draft.num_replicas < 0:
        raise error(E.REPLICAS_COUNT_CANNOT_BE_NEGATIVE)
    if draft.num_replicas > MAX_REPLICAS:
        raise invalid_config(f"maximum replicas is {MAX_REPLICAS}")
    draft.num_replicas = draft.num_replicas or 1


def check_single(draft: StreamConfig) -> None:
    """One server keeps one copy."""
    if draft.num_replicas > 1:
        raise error(E.STREAM_REPLICAS_NOT_SUPPORTED)


def check_limits(draft: StreamConfig, step: Step) -> None:
    for name in ("max_msgs", "max_msgs_per_subject", "max_bytes", "max_msg_size", "max_consumers"):
        value = getattr(draft, name)
        if value < -1:
            step.correct(f"{name} must be set to -1")
        if value < -1 or value == 0:
            setattr(draft, name, -1)


def check_account(config: StreamConfig, rules: Rules) -> None:
    """The limits of the account, before the configuration itself is looked at."""
    limits = rules.limits_for(config)
    if 0 < limits.max_streams <= rules.streams and rules.lookup(config.name) is None:
        raise error(E.MAXIMUM_STREAMS_LIMIT)
    check_max_consumers(config, limits)
    check_reservation(config, most_bytes(limits, config.storage), rules.others(config))


def check_max_consumers(draft: StreamConfig, limits: AccountLimits) -> None:
    if 0 < limits.max_consumers < draft.max_consumers:
        raise error(E.MAXIMUM_CONSUMERS_LIMIT)


def check_max_bytes(draft: StreamConfig, step: Step) -> None:
    account = step.rules.account
    if account.max_bytes_required and draft.max_bytes <= 0:
        raise error(E.STREAM_MAX_BYTES_REQUIRED)
    file, memory = account.storage_max_stream_bytes, account.memory_max_stream_bytes
    if 0 < (file if draft.storage == "file" else memory) < draft.max_bytes:
        raise error(E.STREAM_MAX_STREAM_BYTES_EXCEEDED)


def check_max_age(draft: StreamConfig, step: Step) -> None:
    if draft.max_age < 0:
        raise invalid_config("max age can not be negative")
    if 0 < draft.max_age < SHORTEST:
        raise invalid_config("max age needs to be >= 100ms")


def check_duplicate_window(draft: StreamConfig, step: Step) -> None:
    limit = step.rules.duplicate_window
    if draft.duplicate_window == 0 and draft.mirror is None and not draft.sources:
        window = DUPLICATE_WINDOW
        if 0 < limit < window:
            step.correct("duplicate window limits are higher than current limits")
            window = limit
        if 0 < draft.max_age < window:
            step.correct("duplicate window cannot be bigger than max age")
            window = draft.max_age
        draft.duplicate_window = window
    _check_window(draft.duplicate_window, draft.max_age, limit)


def _check_window(window: int, max_age: int, limit: int) -> None:
    if window < 0:
        raise invalid_config("duplicates window can not be negative")
    if 0 < max_age < window:
        raise invalid_config("duplicates window can not be larger then max age")
    if 0 < limit < window:
        raise invalid_config(
            f"duplicates window can not be larger then server limit of {duration(limit)}"
        )
    if 0 < window < SHORTEST:
        raise invalid_config("duplicates window needs to be >= 100ms")


def check_discard(draft: StreamConfig, step: Step) -> None:
    if not draft.discard_new_per_subject:
        return
    if draft.discard != "new":
        raise invalid_config("discard new per subject requires discard new policy to be set")
    if draft.max_msgs_per_subject <= 0:
        raise invalid_config("discard new per subject requires max msgs per subject > 0")


def check_rollup(draft: StreamConfig, step: Step) -> None:
    if draft.deny_purge and draft.allow_rollup_hdrs:
        raise invalid_config("roll-ups require the purge permission")


def check_marker_ttl(draft: StreamConfig, step: Step) -> None:
    ttl = draft.subject_delete_marker_ttl
    if ttl < 0:
        raise invalid_config("subject delete marker TTL must not be negative")
    if ttl == 0:
        return
    if ttl < SECOND:
        raise invalid_config("subject delete marker TTL must be at least 1 second")
    if not draft.allow_msg_ttl:
        if step.pedantic:
            raise invalid_config("subject delete marker cannot be set if message TTLs are disabled")
        draft.allow_msg_ttl = True
    if not draft.allow_rollup_hdrs:
        if step.pedantic:
            raise invalid_config("subject delete marker cannot be set if roll-ups are disabled")
        draft.allow_rollup_hdrs = True
        draft.deny_purge = False


def check_counter(draft: StreamConfig, step: Step) -> None:
    if not draft.allow_msg_counter:
        return
    for clash, text in (
        (draft.discard == "new", "counter stream cannot use discard new"),
        (draft.allow_msg_ttl, "counter stream cannot use message TTLs"),
        (draft.allow_msg_schedules, "counter stream cannot use message schedules"),
        (draft.retention != "limits", "counter stream can only use limits retention"),
    ):
        if clash:
            raise invalid_config(text)


def check_schedules(draft: StreamConfig, step: Step) -> None:
    if not draft.allow_msg_schedules:
        return
    if draft.discard == "new":
        raise invalid_config("message scheduling cannot use discard new")
    if not draft.allow_rollup_hdrs:
        if step.pedantic:
            raise invalid_config("message scheduling cannot be set if roll-ups are disabled")
        draft.allow_rollup_hdrs = True
        draft.deny_purge = False


def check_persist_mode(draft: StreamConfig, step: Step) -> None:
    if draft.persist_mode != "async":
        return
    for clash, text in (
        (draft.storage != "file", "async persist mode is only supported on file storage"),
        (draft.num_replicas > 1, "async persist mode is not supported on replicated streams"),
        (draft.allow_atomic, "async persist mode is not supported with atomic batch publish"),
    ):
        if clash:
            raise invalid_config(text)


def check_placement(draft: StreamConfig, step: Step) -> None:
    placement = draft.placement
    if placement is None:
        return
    if placement.preferred:
        raise invalid_config("preferred server not permitted in placement")
    if placement == Placement():
        draft.placement = None


def settle_placement(draft: StreamConfig) -> None:
    """An empty list of tags keeps the placement, but is not shown."""
    if draft.placement is not None and not draft.placement.tags:
        draft.placement = Placement(cluster=draft.placement.cluster)
