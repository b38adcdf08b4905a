"""The verbs about streams as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from jetstream_py.api import advisories
from jetstream_py.api import responses as r
from jetstream_py.api.decode import decode_body, decode_optional, expect_empty
from jetstream_py.api.errors import error, invalid_config
from jetstream_py.api.extensions import HEAD, TEMPLATE_OF
from jetstream_py.api.requests import (
    StreamConfigRequest,
    StreamInfoRequest,
    StreamListRequest,
    StreamNamesRequest,
    StreamPurgeRequest,
)
from jetstream_py.api.stream_config import (
    Rules,
    check_config,
    check_create,
    check_update,
    with_versions,
)
from jetstream_py.api.times import ZERO_TIME, parse_time, time_text
from jetstream_py.api.types import (
    AccountInfo,
    AccountLimits,
    ApiStats,
    ClusterInfo,
    StreamConfig,
    StreamInfo,
    StreamState,
    Tier,
)
from jetstream_py.engine.quota import TIER, Allowance
from jetstream_py.gotext import utf8
from jetstream_py.version import API_LEVEL

if TYPE_CHECKING:
    from jetstream_py.api.service import Request
    from jetstream_py.engine.jetstream import JetStream
    from jetstream_py.engine.stream import Stream

NAMES_PAGE = 1024
LIST_PAGE = 256
SUBJECTS_PAGE = 100_000
# What an account with tiers is said to have beside them.
NOTHING = AccountLimits(0, 0, 0, 0, 0, 0, 0)


def account_info(request: Request) -> bytes:
    js, service = request.js, request.service
    allowance = js.allowance or Allowance()
    usage = Tier(  # all of it is in one tier: there are no streams with more copies
        memory=js.used("memory"),
        storage=js.used("file"),
        reserved_memory=js.reserved("memory"),
        reserved_storage=js.reserved("file"),
        streams=len(js.streams),
        consumers=js.consumers(),
        limits=allowance.limits,
    )
    tiers = {
        name: usage if name == TIER else Tier(limits=limits)
        for name, limits in allowance.tiers.items()
    }
    total = replace(usage, limits=NOTHING) if tiers else usage
    return r.account_info(
        AccountInfo(
            **{name: getattr(total, name) for name in Tier.__struct_fields__},
            domain=js.settings.domain,
            api=ApiStats(level=API_LEVEL, total=service.total, errors=service.errors),
            tiers=tiers,
        )
    )


def create(request: Request) -> bytes:
    config = _named_config(request)
    if TEMPLATE_OF in config.metadata and config.name not in request.js.streams:
        raise invalid_config(f"'{TEMPLATE_OF}' is told, not asked for")
    exists = config.name in request.js.streams
    stream = request.js.create(config)
    if not exists:
        advisories.stream_action(request.js, config.name, "create")
    details = describe(request.js, stream)
    return r.stream_created(replace(details, domain=""))  # the only one without


def make(js: JetStream, config: StreamConfig) -> Stream:
    """A stream that nobody has asked for: a template makes it."""
    stream = js.create(check_create(config, rules_of(js)))
    advisories.stream_action(js, config.name, "create")
    return stream


def update(request: Request) -> bytes:
    body = decode_body(request.body, StreamConfigRequest, request.strict)
    given, rules = _config(body), rules_of(request.js)
    check_config(given, rules, body.pedantic)  # a bad name is worse than a wrong one
    _check_name(request.name, given)
    old = request.js.stream(given.name).config
    config = check_update(old, given, rules, body.pedantic)
    stream = request.js.update(config)
    advisories.stream_action(request.js, config.name, "modify")
    return r.stream_updated(describe(request.js, stream))


def _named_config(request: Request) -> StreamConfig:
    body = decode_body(request.body, StreamConfigRequest, request.strict)
    named = _config(body)
    _check_name(request.name, named)
    return check_create(named, rules_of(request.js), body.pedantic)


def rules_of(js: JetStream) -> Rules:
    def lookup(name: str) -> StreamConfig | None:
        stream = js.streams.get(name)
        return stream.config if stream is not None else None

    def others(config: StreamConfig) -> int:
        stream = js.streams.get(config.name)
        same = stream is not None and stream.config.storage == config.storage
        own = max(0, stream.config.max_bytes) if stream is not None and same else 0
        return js.reserved(config.storage) - own

    tiers = js.allowance.tiers if js.allowance is not None else {}
    return Rules(js.limits, js.settings.duplicate_window, lookup, len(js.streams), others, tiers)


def _config(body: StreamConfigRequest) -> StreamConfig:
    """The configuration in a request, without what is about the request."""
    return StreamConfig(**{key: getattr(body, key) for key in StreamConfig.__struct_fields__})


def _check_name(name: str, config: StreamConfig) -> None:
    """The body speaks of the stream that the subject names."""
    if config.name != name:
        raise error(10056)


def info(request: Request) -> bytes:
    options = decode_optional(request.body, StreamInfoRequest, request.strict)
    stream = request.js.stream(request.name)
    details = describe(request.js, stream, deleted=options.deleted_details)
    leader = ClusterInfo(leader=request.js.server_name)
    details = replace(details, cluster=leader)
    wanted = options.subjects_filter.encode()
    counts = stream.store.subjects(wanted) if wanted else {}
    if not counts:
        return r.stream_info(details)
    names = sorted(counts)
    offset = max(options.offset, 0)
    page = {utf8(name): counts[name] for name in names[offset : offset + SUBJECTS_PAGE]}
    state = replace(details.state, subjects=page)
    details = replace(details, state=state)
    return r.stream_info(details, total=len(names), offset=offset, limit=SUBJECTS_PAGE)


def delete(request: Request) -> bytes:
    expect_empty(request.body)
    request.js.delete(request.name)
    advisories.stream_action(request.js, request.name, "delete")
    return r.encode(r.StreamDeleteResponse(success=True))


def purge(request: Request) -> None:
    body = decode_optional(request.body, StreamPurgeRequest, request.strict)
    if body.seq and body.keep:
        raise error(10003)
    stream = request.js.stream(request.name)

    def done(count: int | None) -> None:
        if count is None:
            request.refuse(error(10059))
        else:
            request.respond(r.encode(r.StreamPurgeResponse(success=True, purged=count)))

    seq = _purge_before(stream, body) if body.before else body.seq
    stream.purge(body.filter.encode(), seq, body.keep, done)


def _purge_before(stream: Stream, body: StreamPurgeRequest) -> int:
    """What is older than a time goes. With `seq` 1 such a request does nothing on a server that passes over
    the field; without, it would empty the stream there."""
    if body.seq != 1:
        raise error(10003)
    return stream.store.seq_at(parse_time(body.before))


def names(request: Request) -> bytes:
    body = decode_optional(request.body, StreamNamesRequest, request.strict)
    found = request.js.names(body.subject.encode())
    offset = min(max(body.offset, 0), len(found))
    page = found[offset : offset + NAMES_PAGE]
    return r.encode(
        r.StreamNamesResponse(
            total=len(found), offset=offset, limit=NAMES_PAGE, streams=page or None
        )
    )


def listing(request: Request) -> bytes:
    body = decode_optional(request.body, StreamListRequest, request.strict)
    found = request.js.names(body.subject.encode())
    offset = min(max(body.offset, 0), len(found))
    names = found[offset : offset + LIST_PAGE]
    offline = request.js.offline
    page = [
        describe(request.js, request.js.streams[name], versions=False)
        for name in names
        if name not in offline
    ]
    reasons = {name: offline[name].reason for name in names if name in offline}
    return r.encode(
        r.StreamListResponse(
            total=len(found),
            offset=offset,
            limit=LIST_PAGE,
            streams=page,
            missing=tuple(reasons),
            offline=reasons,
        )
    )


def describe(
    js: JetStream, stream: Stream, deleted: bool = False, versions: bool = True
) -> StreamInfo:
    config = stream.config
    if versions:
        config = replace(config, metadata=with_versions(config.metadata))
    if stream.chain is not None:
        config = replace(config, metadata=config.metadata | {HEAD: str(stream.chain.head)})
    return StreamInfo(
        config=config,
        created=time_text(stream.created_ns),
        state=state_of(stream, deleted),
        domain=js.settings.domain,
        mirror=stream.origins.mirror_info(),
        sources=stream.origins.sources_info(),
        ts=time_text(js.clock.now_ns()),
    )


def state_of(stream: Stream, deleted: bool = False) -> StreamState:
    store = stream.store
    return StreamState(
        messages=store.messages,
        bytes=store.bytes,
        first_seq=store.first_seq,
        first_ts=time_text(store.first_ts) if store.messages else ZERO_TIME,
        last_seq=store.last_seq,
        last_ts=time_text(store.last_ts) if store.last_ts else ZERO_TIME,
        num_subjects=store.num_subjects,
        num_deleted=store.num_deleted(),
        deleted=tuple(store.deleted()) if deleted else (),
        consumer_count=len(stream.consumers.shown()),
    )
