"""What the server tells the system account of its own accord.

Clients that come and go, failed logins, the connections of an account, statistics at intervals, the end.
Nothing is written that nobody listens to: the price of an event without a listener is one look into the
router's cache.

Statistics follow a schedule that is a function of the server's age: close together at first, then every ten
seconds. The timer runs only while there are connections; without them nobody can listen.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Final

from jetstream_py.server import proto

if TYPE_CHECKING:
    from collections.abc import Callable

    from jetstream_py.server.accounts import Account
    from jetstream_py.server.broker import Broker
    from jetstream_py.server.session import Session
    from jetstream_py.server.system.notices import Notices
    from jetstream_py.timers import Timer

_FIRST_STEPS: Final = (0.25, 1.0, 2.0, 4.0, 8.0)  # seconds between statistics of a young server
_STEP: Final = 10.0
_HEARTBEAT: Final = 30.0  # seconds after which an account's connections are told again


def next_statistics(age: float) -> float:
    """The server's age, in seconds, at the next of its statistics."""
    for at in accumulate(_FIRST_STEPS):
        if at > age:
            return at
    return at + ((age - at) // _STEP + 1) * _STEP


class SystemEvents:
    """Tells of one server (see `server.broker.Events`)."""

    def __init__(self, broker: Broker, notices: Callable[[], Notices]) -> None:
        self._broker = broker
        self._notices = notices
        self._timer: Timer | None = None
        self._told: dict[str, float] = {}  # when an account's connections were told last
        self._beats: dict[str, Timer] = {}

    # -- clients ----------------------------------------------------------------------------------

    def connected(self, session: Session) -> None:
        account = session.account
        self._tell_connections(account)
        self._tell(
            f"$SYS.ACCOUNT.{account.name}.CONNECT", lambda notices: notices.connected(session)
        )
        self._arm()

    def disconnected(self, session: Session, counted: bool) -> None:
        if counted:
            self._tell_connections(session.account)
        self._tell(
            f"$SYS.ACCOUNT.{session.account.name}.DISCONNECT",
            lambda notices: notices.disconnected(session, session.stop_ns, session.reason),
        )

    def auth_error(self, session: Session, reason: str) -> None:
        """The session is closed right after."""
        now_ns, broker = self._broker.clock.now_ns(), self._broker

        def farewell(notices: Notices) -> bytes:
            return notices.disconnected(session, now_ns, proto.AUTHENTICATION_VIOLATION)

        if session.rtt is not None:  # it came as far as CONNECT: its account is told, too
            self._tell("$SYS.ACCOUNT.CLIENT.AUTH.ERR", farewell, session.account)
        self._tell(f"$SYS.SERVER.{broker.server_id}.CLIENT.AUTH.ERR", farewell)

    # -- accounts ---------------------------------------------------------------------------------

    def _tell_connections(self, account: Account) -> None:
        """Under the older and the present subject."""
        name = account.name
        stamp: dict[str, str] = {}
        for subject in (f"$SYS.SERVER.ACCOUNT.{name}.CONNS", f"$SYS.ACCOUNT.{name}.SERVER.CONNS"):
            self._tell(subject, lambda notices: notices.connections(account, stamp))
        self._told[name] = self._broker.clock.monotonic()
        if name not in self._beats:
            self._beat_in(_HEARTBEAT, account)

    def _beat_in(self, seconds: float, account: Account) -> None:
        timers = self._broker.timers
        self._beats[account.name] = timers.call_later(seconds, lambda: self._beat(account))

    def _beat(self, account: Account) -> None:
        """One timer for each account: when it is early, because connections came or went, it waits on."""
        del self._beats[account.name]
        left = self._told[account.name] + _HEARTBEAT - self._broker.clock.monotonic()
        if not account.sessions:
            del self._told[account.name]
        elif left > 0:
            self._beat_in(left, account)
        else:
            self._tell_connections(account)

    # -- the server -------------------------------------------------------------------------------

    def lame_duck(self) -> None:
        self._tell_server("LAMEDUCK")

    def shutdown(self) -> None:
        self._tell_server("SHUTDOWN")

    def _tell_server(self, what: str) -> None:
        subject = f"$SYS.SERVER.{self._broker.server_id}.{what}"
        self._tell(subject, lambda notices: notices.server())

    def _arm(self) -> None:
        if self._timer is not None:
            return
        broker = self._broker
        age = (broker.clock.now_ns() - broker.started_ns) / 1e9
        self._timer = broker.timers.call_later(next_statistics(age) - age, self._tick)

    def _tick(self) -> None:
        self._timer = None
        subject = f"$SYS.SERVER.{self._broker.server_id}.STATSZ"
        self._tell(subject, lambda notices: notices.statistics())
        if self._broker.sessions:
            self._arm()

    # -- telling ----------------------------------------------------------------------------------

    def _tell(
        self, subject: str, write: Callable[[Notices], bytes], account: Account | None = None
    ) -> None:
        internal = (account or self._broker.system_account).internal
        where = subject.encode()
        if internal.has_interest(where):
            internal.announce(where, write(self._notices()))
