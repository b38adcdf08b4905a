"""`$JS.API.>`: from a request's subject to an engine call to an answer.

The verbs are a table. A subject that is in no row is swallowed: the real server neither answers nor
says that nobody is there. Answers go through the engine's outbox, so an answer that shows a change
leaves when the change is on disk.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol

from jetstream_py.api import advisories, consumers, level, messages, snapshots, streams
from jetstream_py.api import consumer_responses as cr
from jetstream_py.api import responses as r
from jetstream_py.api.backups import Backups
from jetstream_py.api.consumer_advisories import ConsumerEvents
from jetstream_py.api.direct import direct_get
from jetstream_py.api.direct_series import DIRECT_GET, direct_gets
from jetstream_py.api.errors import ApiError, error
from jetstream_py.api.pulls import NEXT, next_message
from jetstream_py.engine.shared import Series

if TYPE_CHECKING:
    from jetstream_py.engine.jetstream import JetStream

API = b"$JS.API."
MANY = 1_000_000  # tokens; the control line's length is the bound


class Caller(Protocol):
    """The client behind a request, as far as the API looks at it."""

    @property
    def wants_no_responders(self) -> bool: ...

    def describe(self) -> dict[str, object]:
        """For the audit advisory."""
        ...


class Request(NamedTuple):
    """A request that found its verb."""

    service: ApiService
    name: str  # the stream in the subject, "" if there is none
    body: bytes
    key: bytes
    kind: type[r.Response]
    subject: bytes
    reply: bytes
    caller: Caller | None
    consumer: str = ""
    filter: str = ""  # what follows the consumer
    headers: bytes = b""

    @property
    def js(self) -> JetStream:
        return self.service.js

    @property
    def events(self) -> ConsumerEvents:
        return self.service.events

    @property
    def strict(self) -> bool:
        return self.service.js.settings.strict

    def respond(self, answer: bytes | r.Answer) -> None:
        """The answer of a verb that did not give it at once."""
        self.service.conclude(self, answer, 0)

    def refuse(self, refusal: ApiError) -> None:
        self.service.conclude(self, r.failure(self.kind, refusal), 1)


def _nothing(request: Request) -> None:
    return None


class Verb(NamedTuple):
    """One row: how to answer (None: later), and the type of the answer when it fails."""

    run: Callable[[Request], bytes | r.Answer | None]
    kind: type[r.Response]
    least: int = 1  # tokens that follow: a stream, a consumer, a filter
    most: int = 1
    by_consumer: bool = False  # answered by the consumer itself: neither counted nor audited
    asks: bool = False  # changes nothing: waits in a lane of its own, see `request_queue`
    first: Callable[[Request], object] = _nothing  # what is refused even before the account is


def _cluster_only(request: Request) -> bytes:
    raise error(10010)


def _clustered(kind: type[r.Response], tokens: int = 1) -> Verb:
    return Verb(_cluster_only, kind, tokens, tokens, first=_cluster_only)


VERBS: dict[bytes, Verb] = {
    b"INFO": Verb(streams.account_info, r.AccountInfoResponse, 0, 0, asks=True),
    b"STREAM.CREATE": Verb(streams.create, r.StreamCreateResponse),
    b"STREAM.UPDATE": Verb(streams.update, r.StreamUpdateResponse),
    b"STREAM.INFO": Verb(streams.info, r.StreamInfoResponse, asks=True),
    b"STREAM.DELETE": Verb(streams.delete, r.StreamDeleteResponse),
    b"STREAM.PURGE": Verb(streams.purge, r.StreamPurgeResponse),
    b"STREAM.NAMES": Verb(streams.names, r.StreamNamesResponse, 0, 0, asks=True),
    b"STREAM.LIST": Verb(streams.listing, r.StreamListResponse, 0, 0, asks=True),
    b"STREAM.MSG.GET": Verb(messages.get, r.MsgGetResponse),
    b"STREAM.MSG.DELETE": Verb(messages.delete, r.MsgDeleteResponse),
    b"STREAM.SNAPSHOT": Verb(snapshots.snapshot, r.StreamSnapshotResponse),
    b"STREAM.RESTORE": Verb(snapshots.restore, r.StreamRestoreResponse),
    b"STREAM.PEER.REMOVE": _clustered(r.StreamRemovePeerResponse),
    b"STREAM.PEER.EVACUATE": _clustered(r.StreamEvacuatePeerResponse),
    b"STREAM.LEADER.STEPDOWN": _clustered(r.StreamLeaderStepdownResponse),
    b"STREAM.CANCEL_MOVE": _clustered(r.StreamCancelMoveResponse),
    b"CONSUMER.CREATE": Verb(
        consumers.create, cr.ConsumerCreateResponse, 1, MANY, first=consumers.read_create
    ),
    b"CONSUMER.DURABLE.CREATE": Verb(
        consumers.create_durable, cr.ConsumerCreateResponse, 2, 2, first=consumers.read_create
    ),
    b"CONSUMER.INFO": Verb(
        consumers.info, cr.ConsumerInfoResponse, 2, 2, asks=True, first=consumers.read_info
    ),
    b"CONSUMER.NAMES": Verb(consumers.names, cr.ConsumerNamesResponse, asks=True),
    b"CONSUMER.LIST": Verb(consumers.listing, cr.ConsumerListResponse, asks=True),
    b"CONSUMER.DELETE": Verb(consumers.delete, cr.ConsumerDeleteResponse, 2, 2),
    b"CONSUMER.PAUSE": Verb(
        consumers.pause, cr.ConsumerPauseResponse, 2, 2, first=consumers.read_pause
    ),
    b"CONSUMER.UNPIN": Verb(
        consumers.unpin, cr.ConsumerUnpinResponse, 2, 2, first=consumers.read_unpin
    ),
    b"CONSUMER.RESET": Verb(consumers.reset, cr.ConsumerResetResponse, 2, 2, by_consumer=True),
    b"CONSUMER.LEADER.STEPDOWN": _clustered(cr.ConsumerLeaderStepdownResponse, 2),
}
_UNCOUNTED = (b"STREAM.MSG.GET",)
_UNCOUNTED_FAILURES = (b"STREAM.MSG.DELETE",)


# What `$JS.<domain>.API.` may stand before. Key-value and object clients put it before their data, too.
_API_SPACES = (
    b"INFO",
    b"STREAM.>",
    b"CONSUMER.>",
    b"DIRECT.>",
    b"META.>",
    b"SERVER.>",
    b"ACCOUNT.>",
)
_DATA_SPACES = (b"$KV.>", b"$OBJ.>")


class ApiService:
    """The API of one account. One without JetStream has it, too: there it says so."""

    def __init__(self, js: JetStream, max_pending: int) -> None:
        self.js = js
        self.max_pending = max_pending
        self.total = 0
        self.errors = 0
        self._requests = js.engine.requests
        self._closed = False
        self.events = js.shared.events = ConsumerEvents(js)
        js.shared.batch_abandoned = partial(advisories.batch_abandoned, js)
        js.shared.make_stream = partial(streams.make, js)
        self.backups = Backups(js)
        series = Series(DIRECT_GET, partial(direct_gets, self))
        self._subs = [js.bus.subscribe(API + b">", self.request, series)]
        self._domain = b"$JS.%b.API." % js.settings.domain.encode()
        if js.settings.domain:
            self._subs += [
                js.bus.subscribe(self._domain + space, self._request_by_domain)
                for space in _API_SPACES
            ]
            self._subs += [
                js.bus.subscribe(self._domain + space, self._forward) for space in _DATA_SPACES
            ]
        if js.settings.preview_api:
            from jetstream_py.api.preview import Preview  # few want it

            self._subs += Preview(self).subs

    def close(self) -> None:
        self._closed = True
        for sub in self._subs:
            self.js.bus.unsubscribe(sub)
        self.backups.close()

    def request(
        self, subject: bytes, reply: bytes, headers: bytes, body: bytes, caller: Caller | None
    ) -> bool:
        """False: nobody listens there."""
        if subject.startswith(NEXT):
            return next_message(self, subject[len(NEXT) :], reply, headers, body)
        if subject.startswith(DIRECT_GET):
            return direct_get(self, subject[len(DIRECT_GET) :], reply, headers, body)
        found = find(subject[len(API) :])
        if found is not None:
            key, verb, names = found
            request = Request(
                self,
                names.stream,
                body,
                key,
                verb.kind,
                subject,
                reply,
                caller,
                names.consumer,
                names.filter,
                headers,
            )
            self.queue(request, verb)
        return True

    def queue(self, request: Request, verb: Verb) -> None:
        """Have it answered in its turn."""
        size = len(request.body) + len(request.headers)
        self._requests.put(partial(self._run, request, verb), size, verb.asks)

    def _run(self, request: Request, verb: Verb) -> None:
        if self._closed:
            return  # while the request waited
        if verb.by_consumer and not self._is_there(request):
            return
        try:
            if self.js.store.failed:
                raise error(10008)
            level.check(request.headers)
            if not self.js.enabled:
                verb.first(request)
                raise error(10039)
            answer = verb.run(request)
        except ApiError as refusal:
            request.refuse(refusal)
            return
        if answer is not None:
            request.respond(answer)

    def _is_there(self, request: Request) -> bool:
        stream = self.js.streams.get(request.name)
        return stream is not None and request.consumer in stream.consumers

    def _request_by_domain(
        self, subject: bytes, reply: bytes, headers: bytes, body: bytes, caller: Caller | None
    ) -> None:
        """The API by its other name: from here on everybody sees the usual one."""
        real = API + subject[len(self._domain) :]
        if not self.request(real, reply, headers, body, caller):
            self._nobody(real, reply, caller)

    def _forward(
        self, subject: bytes, reply: bytes, headers: bytes, body: bytes, caller: Caller | None
    ) -> None:
        """A publish to a bucket."""
        bus, real = self.js.bus, subject[len(self._domain) :]
        if bus.has_interest(real):
            bus.publish(real, body, reply, headers)
        else:
            self._nobody(real, reply, caller)

    def _nobody(self, subject: bytes, reply: bytes, caller: Caller | None) -> None:
        """Tell that nobody listens, to those who understand it."""
        if reply and caller is not None and caller.wants_no_responders:
            self.answer(reply, b"", b"NATS/1.0 503\r\nNats-Subject: %b\r\n\r\n" % subject)

    def conclude(self, request: Request, answer: bytes | r.Answer, failed: int) -> None:
        """Answer, count, tell those who audit."""
        data, block = answer if isinstance(answer, r.Answer) else (answer, b"")
        if request.reply:
            self.answer(request.reply, data, block)
        if VERBS[request.key].by_consumer:
            return
        if failed or request.key not in _UNCOUNTED:
            if self.js.enabled:
                self.total += 1  # account information counts the requests before it
                self.errors += failed and request.key not in _UNCOUNTED_FAILURES
            advisories.audit(
                self.js, request.subject, request.body, data, request.caller, request.headers
            )

    def answer(self, reply: bytes, data: bytes, headers: bytes = b"") -> None:
        self._requests.answered(len(data))
        self.js.outbox.send(self.js.bus, reply, data, headers=headers)

    def answer_all(
        self, replies: Sequence[bytes], headers: Sequence[bytes], datas: Sequence[bytes]
    ) -> None:
        """`answer` for many, all with headers."""
        self._requests.answered(sum(map(len, datas)))
        self.js.outbox.send_all(self.js.bus, replies, headers, datas)


class Names(NamedTuple):
    """What a subject names beside its verb."""

    stream: str = ""
    consumer: str = ""
    filter: str = ""


def find(path: bytes) -> tuple[bytes, Verb, Names] | None:
    """The row of a path, and the names in it."""
    tokens = path.split(b".")
    for n in (3, 2, 1):
        key = b".".join(tokens[:n])
        verb = VERBS.get(key)
        if verb is None:
            continue
        rest = [token.decode("utf-8", "replace") for token in tokens[n:]]
        if not verb.least <= len(rest) <= verb.most:
            return None
        stream, consumer, *filtered = (*rest, "", "")[: max(2, len(rest))]
        return key, verb, Names(stream, consumer, ".".join(filtered))
    return None
