"""The verbs about consumers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from jetstream_py import headers as hdr
from jetstream_py.api import consumer_responses as r
from jetstream_py.api.consumer_config import (
    ConsumerRules,
    check_config,
    check_new,
    check_unique,
    stored_metadata,
)
from jetstream_py.api.consumer_naming import named_config
from jetstream_py.api.consumer_steps import check_group
from jetstream_py.api.consumer_types import (
    ConsumerConfig,
    ConsumerInfo,
    ConsumersRequest,
    CreateConsumerRequest,
    PauseRequest,
    PriorityGroupState,
    ResetRequest,
    UnpinRequest,
)
from jetstream_py.api.consumer_update import check_update
from jetstream_py.api.decode import decode_body, decode_lenient, decode_optional, expect_empty
from jetstream_py.api.errors import E, error
from jetstream_py.api.responses import Answer, encode
from jetstream_py.api.stream_config import with_versions
from jetstream_py.api.times import ZERO_TIME, is_plain, parse_time, time_text, utc_text
from jetstream_py.api.types import SequencePair, StreamConfig
from jetstream_py.engine.dead_letters import check_address
from jetstream_py.engine.naming import short_hash

if TYPE_CHECKING:
    from jetstream_py.api.service import Request
    from jetstream_py.engine.consumer import Consumer
    from jetstream_py.engine.jetstream import JetStream
    from jetstream_py.engine.stream import Stream

NAMES_PAGE = 1024
LIST_PAGE = 256


# -- creating and changing -------------------------------------------------------------------------


def create(request: Request) -> Answer:
    """CONSUMER.CREATE.S, .S.C and .S.C.filter."""
    return _create(request, durable=False)


def create_durable(request: Request) -> Answer:
    return _create(request, durable=True)


def read_create(request: Request) -> CreateConsumerRequest:
    return decode_body(request.body, CreateConsumerRequest, request.strict)


def _create(request: Request, durable: bool) -> Answer:
    body = read_create(request)
    given = named_config(body, request.name, request.consumer, request.filter, durable)
    if given.num_replicas > 1:
        raise error(E.STREAM_REPLICAS_NOT_SUPPORTED)
    stream = request.js.stream(request.name)
    _check_identity(request, stream, given)
    rules = rules_of(request.js, stream.config)
    if given.name and given.direct and given.sourcing and stream.config.retention == "limits":
        # A mirror that comes back must not find the consumer that it left.
        given = replace(given, name=f"{given.name}-{_random_name(request)}")
    existing = stream.consumers.get(given.durable_name or given.name)
    if existing is None:
        config = check_config(given, rules, body.pedantic)
        consumer = _add(request, stream, config, rules, body.action)
    else:
        pause = existing.config.pause_until  # only PAUSE changes that
        given = replace(given, pause_until=pause and utc_text(pause))
        config = check_config(given, rules, body.pedantic)
        consumer = _change(stream, existing, config, body.action)
    info = describe(request.js, consumer)
    if info.paused and config.pause_until is not None:
        request.events.paused_until(request.name, consumer.name, True, config.pause_until)
    return Answer(r.consumer_created(info), _identity_header(stream, given))


def rules_of(js: JetStream, config: StreamConfig) -> ConsumerRules:
    """For consumers of a stream."""
    settings = js.settings
    return ConsumerRules(
        config,
        js.limits,
        max_ack_pending=settings.max_ack_pending,
        max_batch=settings.max_request_batch,
    )


def _add(
    request: Request, stream: Stream, config: ConsumerConfig, rules: ConsumerRules, action: str
) -> Consumer:
    if action == "update":
        raise error(E.CONSUMER_DOES_NOT_EXIST)
    check_address(stream, config.metadata)
    others = [consumer.config for consumer in stream.consumers.values()]
    config = check_new(config, rules, others)
    name = config.name or _random_name(request)
    while name in stream.consumers:
        name = _random_name(request)
    return stream.consumers.create(name, config)


def _change(stream: Stream, consumer: Consumer, config: ConsumerConfig, action: str) -> Consumer:
    if action == "create" and config != consumer.config:
        raise error(E.CONSUMER_ALREADY_EXISTS)
    check_address(stream, config.metadata)
    if stream.config.retention == "workqueue":
        others = (other for other in stream.consumers.values() if other is not consumer)
        check_unique(config, [other.config for other in others])
    changed = check_update(consumer.config, config, consumer.has_interest())
    if changed != consumer.config:
        consumer.update(changed)
    return consumer


def _random_name(request: Request) -> str:
    return short_hash(request.js.new_id())


# -- identity --------------------------------------------------------------------------------------


def _check_identity(request: Request, stream: Stream, config: ConsumerConfig) -> None:
    """A mirror says which stream it knows: one of the same name may have taken its place."""
    known = hdr.get(request.headers, hdr.STREAM_IDENTITY) if request.headers else None
    if known and (config.direct or config.sourcing) and known.decode() != stream.identity:
        raise error(E.CONSUMER_STREAM_IDENTITY_MISMATCH, msg=stream.identity)


def _identity_header(stream: Stream, config: ConsumerConfig) -> bytes:
    return _identity(stream) if config.direct or config.sourcing else b""


def _identity(stream: Stream) -> bytes:
    return b"NATS/1.0\r\n%b: %b\r\n\r\n" % (hdr.STREAM_IDENTITY, stream.identity.encode())


# -- looking and deleting --------------------------------------------------------------------------


def _consumer(request: Request) -> Consumer:
    consumer = request.js.stream(request.name).consumers.get(request.consumer)
    if consumer is None:
        raise error(E.CONSUMER_NOT_FOUND)
    return consumer


def read_info(request: Request) -> None:
    expect_empty(request.body)


def info(request: Request) -> bytes:
    read_info(request)
    return r.consumer_info(describe(request.js, _consumer(request)))


def delete(request: Request) -> bytes:
    expect_empty(request.body)
    request.js.stream(request.name).consumers.delete(request.consumer)
    return encode(r.ConsumerDeleteResponse(success=True))


def names(request: Request) -> bytes:
    body = decode_optional(request.body, ConsumersRequest, request.strict)
    found = sorted(consumer.name for consumer in _shown(request))
    offset = min(max(body.offset, 0), len(found))
    page = found[offset : offset + NAMES_PAGE]
    return encode(
        r.ConsumerNamesResponse(total=len(found), offset=offset, limit=NAMES_PAGE, consumers=page)
    )


def listing(request: Request) -> bytes:
    body = decode_optional(request.body, ConsumersRequest, request.strict)
    found = sorted(_shown(request), key=lambda consumer: consumer.name)
    offset = min(max(body.offset, 0), len(found))
    page = [
        describe(request.js, consumer, versions=False)
        for consumer in found[offset : offset + LIST_PAGE]
    ]
    return encode(
        r.ConsumerListResponse(total=len(found), offset=offset, limit=LIST_PAGE, consumers=page)
    )


def _shown(request: Request) -> list[Consumer]:
    return request.js.stream(request.name).consumers.shown()


# -- pause, unpin, reset ---------------------------------------------------------------------------


def read_pause(request: Request) -> PauseRequest:
    return decode_optional(request.body, PauseRequest, request.strict)


def pause(request: Request) -> bytes:
    body = read_pause(request)
    consumer = _consumer(request)
    until = _pause_until(body)
    if until != consumer.config.pause_until:
        config = replace(consumer.config, pause_until=until)
        consumer.update(replace(config, metadata=stored_metadata(config)))
        consumer.pause(parse_time(until) if until else 0)
    remaining = _pause_remaining(consumer, request.js.clock.now_ns())
    return encode(
        r.ConsumerPauseResponse(
            paused=remaining > 0, pause_until=until or ZERO_TIME, pause_remaining=remaining
        )
    )


def _pause_until(body: PauseRequest) -> str | None:
    """In UTC; None to resume, which a time of long ago does as well."""
    ns = parse_time(body.pause_until)
    if is_plain(ns):
        return time_text(ns)
    if ns < 0:
        return None
    year = "year outside of range [0,9999]"
    fault = f"json: error calling MarshalJSON for type *time.Time: {year}"
    raise error(E.CONSUMER_STORE_FAILED, err=fault)


def _pause_remaining(consumer: Consumer, now_ns: int) -> int:
    """Nanoseconds, as far as clients can count."""
    return min(max(0, consumer.paused_until_ns - now_ns), 2**63 - 1)


def read_unpin(request: Request) -> UnpinRequest:
    body = decode_lenient(request.body, UnpinRequest)
    if not body.group:
        raise error(E.INVALID_JSON, err="consumer group not specified")
    check_group(body.group)
    return body


def unpin(request: Request) -> bytes:
    body = read_unpin(request)
    consumer = _consumer(request)
    if body.group not in consumer.config.priority_groups:
        raise error(E.CONSUMER_INVALID_PRIORITY_GROUP)
    if not consumer.pinned_id:  # nothing changes, but it is said
        request.events.unpinned(request.name, consumer.name, body.group, "admin")
    consumer.unpin()
    return encode(r.ConsumerUnpinResponse())


def reset(request: Request) -> bytes | Answer:
    body = decode_lenient(request.body, ResetRequest) if request.body else ResetRequest()
    consumer = _consumer(request)
    if body.seq:
        _check_reset(request.js.stream(request.name), consumer.config, body.seq)
    reset_seq = consumer.reset(body.seq)
    answer = r.consumer_reset(describe(request.js, consumer), reset_seq)
    asked = hdr.get(request.headers, hdr.STREAM_IDENTITY) if request.headers else None
    return answer if asked is None else Answer(answer, _identity(consumer.stream))


def _check_reset(stream: Stream, config: ConsumerConfig, seq: int) -> None:
    """A reset goes nowhere that the consumer could not have started."""
    policy = config.deliver_policy
    if policy not in ("all", "by_start_sequence", "by_start_time"):
        raise error(E.CONSUMER_INVALID_RESET, err="not allowed")
    if policy == "by_start_sequence" and seq < config.opt_start_seq:
        raise error(E.CONSUMER_INVALID_RESET, err="below start seq")
    if config.start_ns is not None and seq < stream.store.seq_at(config.start_ns):
        raise error(E.CONSUMER_INVALID_RESET, err="below start time")


# -- info ------------------------------------------------------------------------------------------


def describe(js: JetStream, consumer: Consumer, versions: bool = True) -> ConsumerInfo:
    consumer.stream.consumers.settle()  # what the stream has lost a moment ago counts
    config, ledger = consumer.config, consumer.ledger
    if versions:
        config = replace(config, metadata=with_versions(config.metadata))
    now_ns = js.clock.now_ns()
    remaining = _pause_remaining(consumer, now_ns)
    return ConsumerInfo(
        stream_name=consumer.stream.config.name,
        name=consumer.name,
        created=time_text(consumer.created_ns),
        config=config,
        delivered=_place(
            consumer.delivered_seq, consumer.delivered_stream_seq, consumer.delivered_ns
        ),
        ack_floor=_place(ledger.floor_seq, ledger.floor_stream_seq, ledger.acked_ns),
        num_ack_pending=consumer.num_ack_pending,
        num_redelivered=consumer.num_redelivered,
        num_waiting=consumer.num_waiting,
        num_pending=consumer.num_pending(),
        push_bound=consumer.push_bound,
        paused=remaining > 0,
        pause_remaining=remaining,
        ts=time_text(now_ns),
        priority_groups=_groups(consumer),
    )


def _place(consumer_seq: int, stream_seq: int, active_ns: int) -> SequencePair:
    last_active = time_text(active_ns) if active_ns else None
    return SequencePair(consumer_seq=consumer_seq, stream_seq=stream_seq, last_active=last_active)


def _groups(consumer: Consumer) -> tuple[PriorityGroupState, ...]:
    """Only the first group has a state."""
    return tuple(
        PriorityGroupState(
            group=group,
            pinned_client_id=consumer.pinned_id,
            pinned_ts=time_text(consumer.pinned_ns or None),
        )
        for group in consumer.config.priority_groups[:1]
    )
