"""Who a create request is about: its subject and its body must agree."""

from __future__ import annotations

from msgspec.structs import replace

from jetstream_py.api.consumer_types import ConsumerConfig, CreateConsumerRequest
from jetstream_py.api.errors import E, error


def named_config(
    body: CreateConsumerRequest, stream: str, consumer: str, subject_filter: str, durable: bool
) -> ConsumerConfig:
    """The configuration in the request, with the name in its subject.

    `consumer` is "" on the old subject that names none; `durable` marks the old subject for consumers
    that have a durable name.
    """
    config = body.config
    if body.stream_name != stream:
        raise error(E.STREAM_MISMATCH)
    if any(char in (consumer or config.name) for char in "/\\"):
        raise error(E.CONSUMER_NAME_CONTAINS_PATH_SEPARATORS)
    if durable and not config.durable_name:
        raise error(E.CONSUMER_DURABLE_NAME_NOT_SET)
    if consumer and config.durable_name not in ("", consumer):
        raise error(E.CONSUMER_DURABLE_NAME_NOT_MATCH_SUBJECT)
    if not consumer and config.durable_name:
        raise error(E.CONSUMER_EPHEMERAL_WITH_DURABLE_NAME)
    if subject_filter and config.filter_subjects:
        raise error(E.CONSUMER_MULTIPLE_FILTERS_NOT_ALLOWED)
    if subject_filter and config.filter_subject != subject_filter:
        raise error(E.CONSUMER_CREATE_FILTER_SUBJECT_MISMATCH)
    return replace(config, name=consumer) if consumer else config
