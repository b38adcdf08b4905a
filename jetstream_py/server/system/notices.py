"""The bodies of the system account's events. Imported when somebody listens to one for the first time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from jetstream_py import gotext
from jetstream_py.server.monitor.accstatz import Count, account_stat
from jetstream_py.server.system.clients import ClientInfo, client_info
from jetstream_py.server.system.envelope import Event, Response, Speaker, encode
from jetstream_py.server.system.statsz import statsz

if TYPE_CHECKING:
    from jetstream_py.server.accounts import Account
    from jetstream_py.server.broker import Broker
    from jetstream_py.server.monitor.state import MonitorState
    from jetstream_py.server.session import Session

_TYPE: Final = "io.nats.server.advisory.v1."


class ClientConnect(Event, kw_only=True):
    client: ClientInfo


class ClientDisconnect(ClientConnect, kw_only=True):
    sent: Count
    received: Count
    reason: str


def account_connections(broker: Broker, speaker: Speaker, account: Account) -> dict[str, object]:
    """How many connections an account has, and their traffic."""
    event = _event(broker, speaker, "account_connections")
    stat = account_stat(account)
    return {name: getattr(part, name) for part in (event, stat) for name in part.__struct_fields__}


class Notices:
    """Written for one server."""

    def __init__(self, broker: Broker, state: MonitorState, speaker: Speaker) -> None:
        self._broker = broker
        self._state = state
        self._speaker = speaker

    def connected(self, session: Session) -> bytes:
        return encode(ClientConnect(**self._start("client_connect"), client=client_info(session)))

    def disconnected(self, session: Session, stop_ns: int, reason: str) -> bytes:
        return encode(
            ClientDisconnect(
                **self._start("client_disconnect"),
                client=client_info(session, stop_ns),
                sent=Count(session.in_msgs, session.in_bytes),  # as the client sees it
                received=Count(session.out_msgs, session.out_bytes),
                reason=reason,
            )
        )

    def connections(self, account: Account, stamp: dict[str, str]) -> bytes:
        """The same event under several subjects has one `stamp`."""
        event = account_connections(self._broker, self._speaker, account)
        for name in ("id", "timestamp"):
            event[name] = stamp.setdefault(name, str(event[name]))
        return encode(event)

    def statistics(self) -> bytes:
        stats = statsz(self._broker, self._state)
        return encode(Response(self._speaker.info(), statsz=stats))

    def server(self) -> bytes:
        return encode(self._speaker.info())

    def _start(self, kind: str) -> dict[str, Any]:
        event = _event(self._broker, self._speaker, kind)
        return {name: getattr(event, name) for name in event.__struct_fields__}


def _event(broker: Broker, speaker: Speaker, kind: str) -> Event:
    return Event(
        type=_TYPE + kind,
        id=broker.new_id(),
        timestamp=gotext.rfc3339_nano(broker.clock.now_ns()),
        server=speaker.info(),
    )
