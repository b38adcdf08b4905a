"""Questions to the system account, and their answers.

Bodies are JSON, and may be empty. One that cannot be read is answered with an error 400, a question that
cannot be answered with an error 500; a request that means another server is not answered at all.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from msgspec import UNSET

from jetstream_py import gotext
from jetstream_py.gojson.fields import Wire
from jetstream_py.gojson.read import unmarshal
from jetstream_py.gojson.text import JsonError
from jetstream_py.server import proto
from jetstream_py.server.monitor import cluster, debug
from jetstream_py.server.monitor.accountz import account_detail, accountz
from jetstream_py.server.monitor.accstatz import accstatz
from jetstream_py.server.monitor.connz import connz
from jetstream_py.server.monitor.healthz import healthz
from jetstream_py.server.monitor.jsz import jsz
from jetstream_py.server.monitor.query import BadRequest
from jetstream_py.server.monitor.subsz import subsz
from jetstream_py.server.monitor.varz import varz
from jetstream_py.server.system import requests as r
from jetstream_py.server.system.clients import user_info
from jetstream_py.server.system.envelope import Error, Response, Speaker, encode
from jetstream_py.server.system.notices import account_connections
from jetstream_py.server.system.statsz import statsz
from jetstream_py.server.system.table import USER_INFO
from jetstream_py.subject import overlap

if TYPE_CHECKING:
    from jetstream_py.server.broker import Broker
    from jetstream_py.server.monitor.state import MonitorState
    from jetstream_py.server.system import Message

W = TypeVar("W", bound=Wire)
Answer = Callable[["Desk", Any], object]
AccountAnswer = Callable[["Desk", str, Any], object]
Service = Callable[["Message"], None]


class Silence(Exception):
    """There is nothing to say to this request."""


class Desk(NamedTuple):
    """What answers are made of."""

    broker: Broker
    state: MonitorState


# -- answers about the server ----------------------------------------------------------------------


def _health(desk: Desk, request: r.HealthzRequest) -> object:
    code, health = healthz(desk.broker, request.options())
    health.status_code = code
    return health


def _profile(desk: Desk, request: r.ProfilezRequest) -> object:
    """Only stacks are to be had: the other profiles are those of Go's runtime."""
    if not request.name:
        return {"profile": None, "error": "Profile name not specified"}
    if request.name != "goroutine":
        return {"profile": None, "error": f"Profile {gotext.quote(request.name)} not found"}
    return {"profile": b64encode(debug.stacks().encode()).decode()}


SERVER: Final[dict[str, tuple[type[r.Filter], Answer]]] = {
    "VARZ": (r.VarzRequest, lambda desk, _: varz(desk.broker, desk.state)),
    "CONNZ": (r.ConnzRequest, lambda desk, request: connz(desk.broker, request.options())),
    "ROUTEZ": (r.RoutezRequest, lambda desk, _: cluster.routez(desk.broker)),
    "GATEWAYZ": (r.GatewayzRequest, lambda desk, _: cluster.gatewayz(desk.broker)),
    "LEAFZ": (r.LeafzRequest, lambda desk, _: cluster.leafz(desk.broker)),
    "SUBSZ": (r.SubszRequest, lambda desk, request: subsz(desk.broker, request.options())),
    "JSZ": (r.JszRequest, lambda desk, request: jsz(desk.broker, request.options())),
    "ACCOUNTZ": (r.AccountzRequest, lambda desk, request: accountz(desk.broker, request.account)),
    "HEALTHZ": (r.HealthzRequest, _health),
    "PROFILEZ": (r.ProfilezRequest, _profile),
    "EXPVARZ": (r.ExpvarzRequest, lambda desk, _: {"memstats": debug.memstats()}),
    "IPQUEUESZ": (r.IpqueueszRequest, lambda desk, _: {}),
    "RAFTZ": (r.RaftzRequest, lambda desk, _: {}),
}


# -- answers about an account ----------------------------------------------------------------------


def _account_jsz(desk: Desk, name: str, request: r.JszRequest) -> object:
    view = desk.broker.jetstream_view
    if view is None:
        raise BadRequest("jetstream not enabled")
    return view.account_jsz(name, request.options())


def _account_statz(desk: Desk, name: str, request: r.AccountStatzRequest) -> object:
    if name == "PING":  # all accounts are meant, and that is a service of its own
        raise Silence
    answer = accstatz(desk.broker, request.include_unused, (name,))
    if not answer.account_statz and not request.include_unused:
        raise Silence
    return answer


ACCOUNT: Final[dict[str, tuple[type[r.Filter], AccountAnswer]]] = {
    "CONNZ": (
        r.ConnzRequest,
        lambda desk, name, request: connz(desk.broker, request.options(name)),
    ),
    "INFO": (r.AccountInfoRequest, lambda desk, name, _: account_detail(desk.broker, name)),
    "SUBSZ": (
        r.SubszRequest,
        lambda desk, name, request: subsz(desk.broker, request.options(name)),
    ),
    "JSZ": (r.JszRequest, _account_jsz),
    "LEAFZ": (r.LeafzRequest, lambda desk, name, _: cluster.leafz(desk.broker)),
    "STATZ": (r.AccountStatzRequest, _account_statz),
}


class Services:
    """The services of one server, by the names of `table`."""

    def __init__(
        self,
        broker: Broker,
        state: MonitorState,
        speaker: Speaker,
        reload: Callable[[], str],
    ) -> None:
        self._broker = broker
        self._desk = Desk(broker, state)
        self._speaker = speaker
        self._take_changes = reload
        self._by_name: dict[str, Service] = {
            "USER.INFO": self._user_info,
            "SERVER.STATSZ": self._statsz,
            "SERVER.IDZ": self._idz,
            "ACCOUNT.CONNS": self._conns,
            "STATZ": self._all_statz,
            "SUBSCRIBERS": self._subscribers,
            "RELOAD": self._reload,
            "KICK": self._kick,
            "LDM": self._lame_duck,
        }
        for name, (kind, answer) in SERVER.items():
            self._by_name[f"SERVER.{name}"] = self._service(kind, answer)
        for name, (kind, about) in ACCOUNT.items():
            self._by_name[f"ACCOUNT.{name}"] = self._about(kind, about)

    def serve(self, name: str, message: Message) -> None:
        self._by_name[name](message)

    # -- the usual way ----------------------------------------------------------------------------

    def _service(self, kind: type[r.Filter], answer: Answer) -> Service:
        return lambda message: self._answer(
            message, kind, lambda request: answer(self._desk, request)
        )

    def _about(self, kind: type[r.Filter], answer: AccountAnswer) -> Service:
        """A service about one account."""
        return lambda message: self._answer(
            message,
            kind,
            lambda request: answer(self._desk, self._account_asked(message), request),
        )

    def _account_asked(self, message: Message) -> str:
        """The system account asks about any, the others about themselves."""
        if message.account is not self._broker.system_account:
            return message.account.name
        return gotext.utf8(message.subject.split(b".")[3])  # $SYS.REQ.ACCOUNT.<name>.X

    def _answer(
        self,
        message: Message,
        kind: type[r.Filter],
        run: Callable[[Any], object],
        part: str = "data",
    ) -> None:
        """Read the request, and answer it or say why not."""
        if not message.reply:
            return
        response = Response(self._speaker.info())
        try:
            request = unmarshal(message.body, kind) if message.body else kind()
            if not self._meant(request):
                return
            setattr(response, part, run(request))
        except JsonError as error:
            response.error = Error(400, str(error))
        except BadRequest as error:
            response.data, response.error = None, Error(500, str(error))
        except Silence:
            return
        self._respond(message, response)

    def _respond(self, message: Message, value: object) -> None:
        """In the account where the request arrived, which need not be the client's own."""
        internal = message.account.internal
        if not message.reply:
            return
        if message.account is self._broker.system_account:
            internal.announce(message.reply, encode(value))
        else:
            internal.publish(message.reply, encode(value))

    def _meant(self, request: r.Filter) -> bool:
        broker, options = self._broker, self._broker.options
        return request.means(
            broker.server_name, options.host, options.server_tags, broker.jetstream_domain
        )

    # -- those with a way of their own ------------------------------------------------------------

    def _statsz(self, message: Message) -> None:
        def run(request: r.StatszRequest) -> object:
            return statsz(self._broker, self._desk.state)

        self._answer(message, r.StatszRequest, run, "statsz")

    def _all_statz(self, message: Message) -> None:
        def run(request: r.AccountStatzRequest) -> object:
            answer = accstatz(self._broker, request.include_unused, request.accounts)
            if not (answer.account_statz or request.include_unused):
                raise Silence
            return answer

        self._answer(message, r.AccountStatzRequest, run)

    def _idz(self, message: Message) -> None:
        broker = self._broker
        name, host = broker.server_name, broker.options.host
        self._respond(message, {"name": name, "host": host, "id": broker.server_id})

    def _user_info(self, message: Message) -> None:
        who = message.client if message.subject == USER_INFO.encode() else None
        data = user_info(who, self._broker.clock.now_ns())
        self._respond(message, Response(self._speaker.info(), data))

    def _conns(self, message: Message) -> None:
        """As the event of the same name."""
        account = self._broker.accounts.get(self._account_asked(message))
        request = r.ConnsRequest()
        if message.body:
            what = "account connections request message"
            read = self._read(message.body, r.ConnsRequest, what)
            if read is None:
                return
            request = read
        if account is None or not account.sessions:
            return
        if request.acc and request.acc != account.name:
            self._broker.log.error("SYSTEM - Error unmarshalled account does not match subject")
            return
        self._respond(message, account_connections(self._broker, self._speaker, account))

    def _subscribers(self, message: Message) -> None:
        """How many listen to a subject, in a queue group if one is named."""
        subject, _, rest = message.body.strip().partition(b" ")
        queue = rest.split(b" ")[0]
        count = sum(
            1
            for sub in message.account.router.sublist.subscriptions()
            if overlap(sub.subject, subject) and (not queue or sub.queue == queue)
        )
        self._respond(message, count)

    # -- deeds ------------------------------------------------------------------------------------

    def _reload(self, message: Message) -> None:
        self._done(message, self._take_changes())

    def _kick(self, message: Message) -> None:
        request = self._read(message.body, r.KickRequest, "kick client request")
        if request is not None:
            session = self._broker.sessions.get(request.cid)
            if session is not None:
                self._broker.close_session(session, proto.KICKED)
            self._done(message, "" if session else "no such client or leafnode id")

    def _lame_duck(self, message: Message) -> None:
        request = self._read(message.body, r.LameDuckRequest, "kick client request")
        if request is not None:
            session = self._broker.sessions.get(request.cid)
            if session is not None:
                self._broker.send_away(session)
            self._done(message, "" if session else "no such client id")

    def _read(self, body: bytes, kind: type[W], what: str) -> W | None:
        """A request that is not answered when it cannot be read."""
        try:
            return unmarshal(body, kind)
        except JsonError as error:
            self._broker.log.error(f"SYSTEM - Error unmarshalling {what}: {error}")
            return None

    def _done(self, message: Message, refusal: str) -> None:
        error = Error(500, refusal) if refusal else UNSET
        self._respond(message, Response(self._speaker.info(), error=error))
