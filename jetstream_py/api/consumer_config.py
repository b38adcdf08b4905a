"""What a consumer may be, and what it may become.

`check_config` takes a configuration as a client sent it and gives back the one that the consumer lives
by: first the defaults are filled in, then the whole is judged, both in steps whose order decides which
of several faults is named. In pedantic mode nothing is corrected in silence.

What depends on the stream's other consumers follows: `check_new` for one that is to be added,
`consumer_update.check_update` for one that is there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from msgspec.structs import replace

from jetstream_py.api import consumer_defaults as defaults
from jetstream_py.api import consumer_steps as steps
from jetstream_py.api import extensions
from jetstream_py.api.consumer_rules import (
    INACTIVE_THRESHOLD,
    MAX_NAME,
    ConsumerRules,
    ConsumerStep,
)
from jetstream_py.api.consumer_types import ConsumerConfig
from jetstream_py.api.errors import E, error
from jetstream_py.api.stream_config import LEVEL_KEY, REQUIRED_KEY, VERSION_KEY
from jetstream_py.api.times import ZERO_TIME
from jetstream_py.subject import overlap

__all__ = [
    "ConsumerRules",
    "check_config",
    "check_new",
    "check_unique",
    "stored_metadata",
    "with_threshold",
]

_STEPS: Final[tuple[Callable[[ConsumerConfig, ConsumerStep], None], ...]] = (
    defaults.settle_sourcing,
    defaults.settle_numbers,
    defaults.settle_waiting,
    defaults.settle_flow_control,
    defaults.settle_ack_wait,
    defaults.settle_stream_limits,
    defaults.settle_ack_pending,
    defaults.settle_batch,
    defaults.settle_priority,
    steps.check_name,
    steps.check_replicas,
    steps.check_backoff,
    steps.check_ack_wait,
    steps.check_flow_control_acks,
    steps.check_description,
    steps.check_delivery,
    steps.check_limits,
    steps.check_direct,
    steps.check_filters,
    steps.check_start,
    steps.check_sampling,
    steps.check_heartbeat,
    steps.check_metadata,
    extensions.check_consumer,
    steps.check_priority,
    defaults.settle_name,
)


def check_config(
    config: ConsumerConfig, rules: ConsumerRules, pedantic: bool = False
) -> ConsumerConfig:
    """What a new configuration and a changed one have in common."""
    draft = _copied(config)
    step = ConsumerStep(rules, pedantic)
    for check in _STEPS:
        check(draft, step)
    if draft.ack_policy != config.ack_policy:
        draft.metadata = stored_metadata(draft)  # `settle_sourcing` has raised the level
    return draft


def check_new(
    config: ConsumerConfig, rules: ConsumerRules, others: Iterable[ConsumerConfig]
) -> ConsumerConfig:
    """The configuration of a consumer that is added to `others`, if the stream may have it."""
    if not config.direct:
        seen = [other for other in others if not other.direct]
        _check_count(rules, len(seen))
        if rules.stream.retention == "workqueue" and not config.sourcing:
            _check_work_queue(config, seen)
    _check_length(config)
    return with_threshold(config, durable=bool(config.durable_name))


def _check_count(rules: ConsumerRules, count: int) -> None:
    most, account = rules.stream.max_consumers, rules.account.max_consumers
    if most <= 0 or 0 < account < most:
        most = account
    if 0 < most <= count:
        raise error(E.MAXIMUM_CONSUMERS_LIMIT)


def _check_work_queue(config: ConsumerConfig, others: list[ConsumerConfig]) -> None:
    if config.ack_policy not in ("explicit", "flow_control"):
        raise error(E.CONSUMER_WQ_REQUIRES_EXPLICIT_ACK)
    if config.deliver_policy != "all":
        raise error(E.CONSUMER_WQ_CONSUMER_NOT_DELIVER_ALL)
    if not config.filters and not all(other.sourcing for other in others):
        raise error(E.CONSUMER_WQ_MULTIPLE_UNFILTERED)
    check_unique(config, others)


def check_unique(config: ConsumerConfig, others: Iterable[ConsumerConfig]) -> None:
    """On a work queue no message has two consumers, as far as filters say."""
    for other in others:
        if other.direct or other.sourcing:
            continue
        for own in other.filters or (">",):
            if any(overlap(subject.encode(), own.encode()) for subject in config.filters):
                raise error(E.CONSUMER_WQ_CONSUMER_NOT_UNIQUE)


def _check_length(config: ConsumerConfig) -> None:
    """Names without the word durable are only bounded by what the store takes."""
    if len(config.durable_name.encode()) > MAX_NAME:
        raise error(E.CONSUMER_NAME_TOO_LONG, max=MAX_NAME)
    if len(config.name.encode()) > MAX_NAME or "\0" in config.name:
        raise error(E.CONSUMER_CREATE, err="error creating store for consumer")


def with_threshold(config: ConsumerConfig, durable: bool) -> ConsumerConfig:
    """What is not durable does not stay for ever."""
    if durable or config.inactive_threshold:
        return config
    return replace(config, inactive_threshold=INACTIVE_THRESHOLD)


def _copied(config: ConsumerConfig) -> ConsumerConfig:
    """A draft, with the metadata that is stored."""
    fields = ConsumerConfig.__struct_fields__
    draft = ConsumerConfig(**{name: getattr(config, name) for name in fields})
    draft.metadata = stored_metadata(draft)
    return draft


# -- metadata --------------------------------------------------------------------------------------


def required_level(config: ConsumerConfig) -> int:
    """The API level that a server needs to run the consumer."""
    if config.ack_policy == "flow_control":
        return 4
    paused = config.pause_until not in (None, ZERO_TIME)
    prioritized = config.priority_policy != "none" or config.priority_groups
    return 1 if paused or prioritized or config.priority_timeout else 0


def stored_metadata(config: ConsumerConfig) -> dict[str, str]:
    """The client's metadata and the level that the consumer needs."""
    kept = {k: v for k, v in config.metadata.items() if k not in (VERSION_KEY, LEVEL_KEY)}
    return kept | {REQUIRED_KEY: str(required_level(config))}
