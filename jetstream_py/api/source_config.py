"""Mirrors and sources: streams that take their messages from other streams."""

from __future__ import annotations

from typing import Final, NamedTuple

from msgspec.structs import replace

from jetstream_py.api.errors import E, error, invalid_config
from jetstream_py.api.stream_rules import Lookup, Step
from jetstream_py.api.types import (
    External,
    SourceConsumer,
    StreamConfig,
    StreamSource,
    SubjectTransform,
)
from jetstream_py.gotext import quote
from jetstream_py.subject import is_literal, is_valid, is_valid_literal, overlap
from jetstream_py.transforms.rules import TransformError, check_mapping, check_transform

API_PREFIX: Final = "$JS.API"
FORBIDDEN_IN_NAME: Final = " \t\r\n\f.*>/\\"


class Faults(NamedTuple):
    """The errors that mirrors and sources have in common, by their names."""

    filters: E
    transform_source: E
    transform_destination: E
    overlap: E
    consumer: E
    size: E


_MIRROR: Final = Faults(
    E.MIRROR_MULTIPLE_FILTERS_NOT_ALLOWED,
    E.MIRROR_INVALID_SUBJECT_FILTER,
    E.MIRROR_INVALID_TRANSFORM_DESTINATION,
    E.MIRROR_OVERLAPPING_SUBJECT_FILTERS,
    E.MIRROR_DURABLE_CONSUMER_CFG_INVALID,
    E.MIRROR_MAX_MESSAGE_SIZE_TOO_BIG,
)
_SOURCE: Final = Faults(
    E.SOURCE_MULTIPLE_FILTERS_NOT_ALLOWED,
    E.SOURCE_INVALID_SUBJECT_FILTER,
    E.SOURCE_INVALID_TRANSFORM_DESTINATION,
    E.SOURCE_OVERLAPPING_SUBJECT_FILTERS,
    E.SOURCE_DURABLE_CONSUMER_CFG_INVALID,
    E.SOURCE_MAX_MESSAGE_SIZE_TOO_BIG,
)


def check_mirror(draft: StreamConfig, step: Step) -> None:
    mirror = draft.mirror
    if mirror is None:
        return
    for clash, fault in (
        (draft.first_seq > 0, E.MIRROR_WITH_FIRST_SEQ),
        (draft.subjects, E.MIRROR_WITH_SUBJECTS),
        (draft.sources, E.MIRROR_WITH_SOURCES),
        (draft.allow_msg_counter, E.MIRROR_WITH_COUNTERS),
        (draft.allow_atomic, E.MIRROR_WITH_ATOMIC_PUBLISH),
        (draft.allow_batched, E.MIRROR_WITH_BATCH_PUBLISH),
        (draft.allow_msg_schedules, E.MIRROR_WITH_MSG_SCHEDULES),
    ):
        if clash:
            raise error(fault)
    _check_consumer(mirror, _MIRROR)
    _check_one_filter(mirror, _MIRROR)
    if draft.subject_delete_marker_ttl:
        raise invalid_config("subject delete markers forbidden on mirrors")
    for i, transform in enumerate(mirror.subject_transforms):
        _check_transform(transform, _MIRROR)
        _check_apart(mirror, _MIRROR, i)
    if mirror.external is not None:
        _check_external(mirror.external)
        return
    if not is_stream_name(mirror.name):
        raise error(E.MIRROR_INVALID_STREAM_NAME)
    _check_size(draft, mirror, _MIRROR, step.rules.lookup)
    origin = step.rules.lookup(mirror.name)
    if origin is not None and origin.allow_direct != draft.mirror_direct:
        step.correct("origin stream has direct get set, mirror has it disabled")
        draft.mirror_direct = origin.allow_direct


def check_sources(draft: StreamConfig, step: Step) -> None:
    if draft.sources and draft.allow_msg_schedules:
        raise error(E.SOURCE_WITH_MSG_SCHEDULES)
    seen: list[StreamSource] = []
    consumers: list[StreamSource] = []
    for source in draft.sources:
        if not is_stream_name(source.name):
            raise error(E.SOURCE_INVALID_STREAM_NAME)
        key = _identity(source)
        if key in seen:
            raise error(E.SOURCE_DUPLICATE_DETECTED)
        seen.append(key)
        _check_one_filter(source, _SOURCE)
        for transform in source.subject_transforms:
            _check_transform(transform, _SOURCE)
        for i in range(len(source.subject_transforms)):
            _check_apart(source, _SOURCE, i)
        _check_consumer(source, _SOURCE)
        if source.consumer is not None:
            consumer = replace(key, filter_subject="", subject_transforms=())
            if consumer in consumers:
                raise error(E.SOURCE_DURABLE_CONSUMER_DUPLICATE_DETECTED)
            consumers.append(consumer)
        if source.external is None:
            _check_size(draft, source, _SOURCE, step.rules.lookup)
    for source in draft.sources:
        if source.external is not None:
            _check_external(source.external)


def _identity(source: StreamSource) -> StreamSource:
    """What tells a source from another one: not where it starts, nor where it is delivered."""
    return StreamSource(
        name=source.name,
        filter_subject="" if source.filter_subject == ">" else source.filter_subject,
        subject_transforms=source.subject_transforms,
        external=External(api=source.external.api) if source.external else None,
        consumer=SourceConsumer(name=source.consumer.name) if source.consumer else None,
    )


def _check_size(draft: StreamConfig, source: StreamSource, faults: Faults, lookup: Lookup) -> None:
    origin = lookup(source.name)
    if origin is not None and 0 < draft.max_msg_size < origin.max_msg_size:
        raise error(faults.size)


def is_stream_name(name: str) -> bool:
    return bool(name) and not any(char in name for char in FORBIDDEN_IN_NAME)


def _check_one_filter(source: StreamSource, faults: Faults) -> None:
    if source.filter_subject and source.subject_transforms:
        raise error(faults.filters)


def _check_transform(transform: SubjectTransform, faults: Faults) -> None:
    if transform.src and not is_valid(transform.src.encode()):
        raise error(faults.transform_source, err=f"invalid subject {transform.src}")
    try:
        check_mapping(transform.dest)
        check_transform(transform.src, transform.dest)
    except TransformError as fault:
        raise error(faults.transform_destination, err=fault) from None


def _check_apart(source: StreamSource, faults: Faults, i: int) -> None:
    """The transform takes no message that a later one takes too."""
    subject, *others = (each.src.encode() for each in source.subject_transforms[i:])
    if any(overlap(subject, other) for other in others):
        raise error(faults.overlap)


def _check_consumer(source: StreamSource, faults: Faults) -> None:
    consumer = source.consumer
    if consumer is None:
        return
    if (
        not is_stream_name(consumer.name)
        or not is_valid_literal(consumer.deliver_subject.encode())
        or source.opt_start_seq
        or source.opt_start_time
        or source.filter_subject
    ):
        raise error(faults.consumer)


def _check_external(external: External) -> None:
    deliver, api = external.deliver.encode(), external.api.encode()
    if deliver and not is_plain(deliver):
        raise error(E.STREAM_INVALID_EXTERNAL_DELIVERY_SUBJ, prefix=external.deliver)
    if api and not is_plain(api):
        raise invalid_config(
            f"stream external api prefix {quote(external.api)} "
            "must be a valid subject without wildcards"
        )
    if external.api == API_PREFIX:
        raise error(E.STREAM_EXTERNAL_API_OVERLAP, prefix=external.api, subject=API_PREFIX)


def is_plain(subject: bytes) -> bool:
    return is_valid(subject) and is_literal(subject)


def check_filters(draft: StreamConfig) -> None:
    """Noticed late, when the stream would start to listen to its origins."""
    for sources, text in (
        ((draft.mirror,) if draft.mirror else (), "subject filter '{}' for the mirror {}"),
        (draft.sources, "subject filter '{}' for the source: {}"),
    ):
        for source in sources:
            if source.filter_subject and not is_valid(source.filter_subject.encode()):
                raise error(
                    E.STREAM_CREATE, err=text.format(source.filter_subject, "invalid subject")
                )


def check_cycles(draft: StreamConfig, step: Step) -> None:
    """No way may lead back to the stream, through whatever other streams."""
    seen = {draft.name}
    ahead = [draft]
    while ahead:
        stream = ahead.pop()
        for name, filtered in _origins(stream):
            if name == draft.name:
                if not filtered or _listens(stream, filtered):
                    raise invalid_config("detected cycle")
            elif name not in seen and (origin := step.rules.lookup(name)) is not None:
                ahead.append(origin)
            seen.add(name)


def _origins(stream: StreamConfig) -> list[tuple[str, str]]:
    """The streams of this server that a stream takes messages from, and by which filter."""
    origins = [(each.name, each.filter_subject) for each in stream.sources if not each.external]
    if stream.mirror is not None and stream.mirror.external is None:
        origins.append((stream.mirror.name, ""))
    return origins


def _listens(stream: StreamConfig, subject: str) -> bool:
    return any(overlap(subject.encode(), each.encode()) for each in stream.subjects)
