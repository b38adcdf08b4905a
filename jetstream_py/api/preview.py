"""The API as it was when JetStream was a preview: other subjects, `+OK`, `-ERR <reason>` or indented JSON.

    $JS.ENABLED                    $JS.STREAM.<s>.CREATE | UPDATE | INFO | DELETE | PURGE
    $JS.INFO                       $JS.STREAM.<s>.MSG.DELETE | CONSUMERS
    $JS.STREAM.LIST                $JS.STREAM.<s>.CONSUMER.<c>.CREATE | INFO | DELETE
    $JS.RN.<s>.<c>                 $JS.STREAM.<s>.EPHEMERAL.CONSUMER.CREATE

For tools and scripts of that time; `jetstream { preview_api: true }` turns it on. Every row does what its
verb of today does, on the same streams, and waits in the same queue. Only names and forms are translated.
What it does not bring back: PubAcks and the reply subjects of deliveries are those of today.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from jetstream_py import limits
from jetstream_py.api import consumers, messages, streams
from jetstream_py.api.errors import ApiError, E, error
from jetstream_py.api.pulls import next_message
from jetstream_py.api.reservation import most_bytes
from jetstream_py.api.responses import Answer, Response
from jetstream_py.api.service import ApiService, Caller, Request, Verb
from jetstream_py.api.times import ZERO_TIME

if TYPE_CHECKING:
    from jetstream_py.api.consumer_types import ConsumerConfig
    from jetstream_py.engine.jetstream import JetStream

OK: Final = b"+OK"
_STREAM_KEYS: Final = (
    "name",
    "subjects",
    "retention",
    "max_consumers",
    "max_msgs",
    "max_bytes",
    "max_age",
    "max_msg_size",
    "storage",
    "num_replicas",
)
_STATE_KEYS: Final = ("messages", "bytes", "first_seq", "last_seq", "consumer_count")


class PreviewRequest(Request):
    """A request whose failure is one line of text."""

    __slots__ = ()

    def refuse(self, refusal: ApiError) -> None:
        self.service.conclude(self, b"-ERR " + refusal.description.encode(), 1)


class _Row(NamedTuple):
    """A subject, the verb of today that it is counted as, and what it does."""

    subject: bytes
    key: bytes
    run: Callable[[Request], bytes | Answer | None]
    asks: bool = False


class Preview:
    """The old subjects of one account."""

    def __init__(self, service: ApiService) -> None:
        self._service = service
        bus = service.js.bus
        self.subs = [bus.subscribe(row.subject, partial(self._request, row)) for row in _ROWS]
        self.subs.append(bus.subscribe(b"$JS.RN.*.*", self._next))

    def _request(
        self,
        row: _Row,
        subject: bytes,
        reply: bytes,
        headers: bytes,
        body: bytes,
        caller: Caller | None,
    ) -> None:
        names = [token.decode("utf-8", "replace") for token in subject.split(b".")] + [""] * 3
        consumer = names[4] if names[3] == "CONSUMER" else ""
        verb = Verb(row.run, Response, asks=row.asks)
        request = PreviewRequest(
            self._service,
            names[2],
            body,
            row.key,
            verb.kind,
            subject,
            reply,
            caller,
            consumer,
            headers=headers,
        )
        self._service.queue(request, verb)

    def _next(
        self, subject: bytes, reply: bytes, headers: bytes, body: bytes, caller: Caller | None
    ) -> bool:
        """The body says how many."""
        return next_message(self._service, subject[len(b"$JS.RN.") :], reply, headers, body)


def _json(value: object) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=2)


# -- the account -----------------------------------------------------------------------------------


def _enabled(request: Request) -> bytes:
    return OK


def _account(request: Request) -> bytes:
    js = request.js
    return _json(
        {
            "memory": js.used("memory"),
            "storage": js.used("file"),
            "streams": len(js.streams),
            "limits": {
                "max_memory": _most(js, "memory"),
                "max_storage": _most(js, "file"),
                "max_streams": js.limits.max_streams,
                "max_consumers": js.limits.max_consumers,
            },
        }
    )


def _most(js: JetStream, kind: str) -> int:
    """The account's limit, or else the server's."""
    own = most_bytes(js.limits, kind)
    return own if own >= 0 else js.engine.most.get(kind, -1)


# -- streams ---------------------------------------------------------------------------------------


def _streams(request: Request) -> bytes:
    return _json(request.js.names())


def _create_stream(request: Request) -> bytes:
    streams.create(request)
    return OK


def _update_stream(request: Request) -> bytes:
    streams.update(request)
    return OK


def _stream(request: Request) -> bytes:
    stream = request.js.stream(request.name)
    state = streams.state_of(stream)
    return _json(
        {
            "config": {key: getattr(stream.config, key) for key in _STREAM_KEYS},
            "state": {key: getattr(state, key) for key in _STATE_KEYS},
        }
    )


def _delete_stream(request: Request) -> bytes:
    streams.delete(request._replace(body=b""))
    return OK


def _purge(request: Request) -> None:
    def done(count: int | None) -> None:
        if count is None:
            request.refuse(error(E.STREAM_NOT_FOUND))
        else:
            request.respond(OK)

    request.js.stream(request.name).purge(b"", 0, 0, done)


def _delete_message(request: Request) -> bytes:
    """The body is a sequence."""
    body = request.body.strip()
    if body.isdigit() and len(body) < 20:
        body = b'{"seq":%d}' % int(body)
    messages.delete(request._replace(body=body))
    return OK


# -- consumers -------------------------------------------------------------------------------------


def _consumers(request: Request) -> bytes:
    found = request.js.stream(request.name).consumers.shown()
    return _json(sorted(consumer.name for consumer in found))


def _create_consumer(request: Request) -> bytes:
    consumers.create_durable(request._replace(body=_body(request)))
    return OK


def _create_ephemeral(request: Request) -> bytes:
    """Somebody must be there for the messages; the answer names the consumer."""
    body = _body(request)
    subject = msgspec.json.decode(body)["config"].get("deliver_subject")
    if isinstance(subject, str) and not request.js.bus.has_interest(subject.encode()):
        text = "consumer requires interest for delivery subject when ephemeral"
        raise error(E.CONSUMER_CREATE, err=text)
    answer = msgspec.json.decode(consumers.create(request._replace(body=body)).data)
    return b"%b %b" % (OK, answer["name"].encode())


def _body(request: Request) -> bytes:
    """A request to create a consumer, in the words of today."""
    try:
        given = msgspec.json.decode(request.body, type=dict[str, Any])
        config = given.get("config")
        if not isinstance(config, dict):
            raise error(E.BAD_REQUEST)
        return msgspec.json.encode({**given, "config": _today(config)})
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as fault:
        raise error(E.INVALID_JSON, err=fault) from None


def _today(config: dict[str, Any]) -> dict[str, Any]:
    """The configuration of a consumer with the names that fields have now."""
    made = dict(config)
    if "delivery_subject" in made:
        made["deliver_subject"] = made.pop("delivery_subject")
    seq, time = made.pop("stream_seq", 0), made.pop("start_time", ZERO_TIME)
    everything, last = made.pop("deliver_all", False), made.pop("deliver_last", False)
    if seq:
        made |= {"deliver_policy": "by_start_sequence", "opt_start_seq": seq}
    elif time != ZERO_TIME:
        made |= {"deliver_policy": "by_start_time", "opt_start_time": time}
    else:
        policy = "last" if last else "all" if everything else "new"
        made.setdefault("deliver_policy", policy)
    if not made.get("deliver_subject"):
        made.setdefault("ack_policy", "explicit")  # those who pull always had to ack
    return made


def _then(config: ConsumerConfig) -> dict[str, object]:
    """The configuration of a consumer with the names that fields had."""
    start = config.opt_start_time if config.deliver_policy == "by_start_time" else None
    found: dict[str, object] = {
        "delivery_subject": config.deliver_subject,
        "durable_name": config.durable_name,
        "stream_seq": config.opt_start_seq,
        "start_time": start or ZERO_TIME,
        "deliver_all": config.deliver_policy == "all",
        "deliver_last": config.deliver_policy == "last",
        "ack_policy": config.ack_policy,
        "ack_wait": config.ack_wait if config.ack_policy != "none" else 0,
        "max_deliver": config.max_deliver,
        "filter_subject": config.filter_subject,
        "replay_policy": config.replay_policy,
        "sample_freq": config.sample_freq,
    }
    return {key: value for key, value in found.items() if value}


def _consumer(request: Request) -> bytes:
    """`delivered` names what comes next, as it did; the lists have a bound."""
    consumer = request.js.stream(request.name).consumers.get(request.consumer)
    if consumer is None:
        raise error(E.CONSUMER_NOT_FOUND)
    unacked, ledger = consumer.unacked, consumer.ledger
    offset = request.js.clock.now_ns() - consumer.shared.now()
    owed = sorted(unacked.since)[: limits.PREVIEW_PENDING]
    again = sorted(unacked.redeliveries)[: limits.PREVIEW_PENDING]
    return _json(
        {
            "stream_name": request.name,
            "name": consumer.name,
            "config": _then(consumer.config),
            "state": {
                "delivered": _place(consumer.next_dseq, consumer.position.next_seq),
                "ack_floor": _place(ledger.floor_seq, ledger.floor_stream_seq),
                "pending": {str(seq): unacked.since[seq] + offset for seq in owed} or None,
                "redelivery": {str(seq): unacked.redeliveries[seq] for seq in again} or None,
            },
        }
    )


def _place(consumer_seq: int, stream_seq: int) -> dict[str, int]:
    return {"consumer_seq": consumer_seq, "stream_seq": stream_seq}


def _delete_consumer(request: Request) -> bytes:
    consumers.delete(request._replace(body=b""))
    return OK


_STREAM: Final = b"$JS.STREAM.*."
_CONSUMER: Final = b"$JS.STREAM.*.CONSUMER.*."
_ROWS: Final = (
    _Row(b"$JS.ENABLED", b"INFO", _enabled, asks=True),
    _Row(b"$JS.INFO", b"INFO", _account, asks=True),
    _Row(b"$JS.STREAM.LIST", b"STREAM.LIST", _streams, asks=True),
    _Row(_STREAM + b"CREATE", b"STREAM.CREATE", _create_stream),
    _Row(_STREAM + b"UPDATE", b"STREAM.UPDATE", _update_stream),
    _Row(_STREAM + b"INFO", b"STREAM.INFO", _stream, asks=True),
    _Row(_STREAM + b"DELETE", b"STREAM.DELETE", _delete_stream),
    _Row(_STREAM + b"PURGE", b"STREAM.PURGE", _purge),
    _Row(_STREAM + b"MSG.DELETE", b"STREAM.MSG.DELETE", _delete_message),
    _Row(_STREAM + b"CONSUMERS", b"CONSUMER.LIST", _consumers, asks=True),
    _Row(_CONSUMER + b"CREATE", b"CONSUMER.DURABLE.CREATE", _create_consumer),
    _Row(_CONSUMER + b"INFO", b"CONSUMER.INFO", _consumer, asks=True),
    _Row(_CONSUMER + b"DELETE", b"CONSUMER.DELETE", _delete_consumer),
    _Row(_STREAM + b"EPHEMERAL.CONSUMER.CREATE", b"CONSUMER.CREATE", _create_ephemeral),
)
