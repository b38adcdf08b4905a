"""A broker of plain records: what monitoring reads, with values that tests choose."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields

from jetstream_py.clock import ManualClock
from jetstream_py.config.account_options import AccountOptions, User
from jetstream_py.config.options import Options
from jetstream_py.server.connect import ConnectOptions
from jetstream_py.server.monitor.view import JetStreamView
from jetstream_py.server.tls_info import TlsInfo
from jetstream_py.subject import matches
from jetstream_py.timers import Timers

SECOND = 1_000_000_000


@dataclass
class FakeSub:
    session: FakeSession
    subject: bytes
    queue: bytes = b""
    sid: bytes = b"1"
    msgs: int = 0
    max: int = 0


@dataclass
class FakeSublist:
    subs: list[FakeSub] = field(default_factory=list)
    inserts: int = 0
    removes: int = 0

    @property
    def count(self) -> int:
        return len(self.subs)

    def subscriptions(self) -> Iterator[FakeSub]:
        return iter(self.subs)

    def match(self, subject: bytes) -> FakeRoute:
        found = [sub for sub in self.subs if matches(subject, sub.subject)]
        groups = tuple((sub,) for sub in found if sub.queue)
        return FakeRoute(tuple(sub for sub in found if not sub.queue), groups)


@dataclass
class FakeRoute:
    plain: tuple[FakeSub, ...] = ()
    groups: tuple[tuple[FakeSub, ...], ...] = ()


@dataclass
class FakeRouter:
    sublist: FakeSublist = field(default_factory=FakeSublist)
    resolved: int = 0
    routes: list[FakeRoute] = field(default_factory=list)

    def cached(self) -> list[FakeRoute]:
        return self.routes


@dataclass
class FakeAccount:
    name: str
    router: FakeRouter = field(default_factory=FakeRouter)
    options: AccountOptions = field(default_factory=lambda: AccountOptions(""))
    sessions: dict[int, FakeSession] = field(default_factory=dict)
    slow_consumers: int = 0
    gone: list[int] = field(default_factory=lambda: [0, 0, 0, 0])


@dataclass
class FakeLink:
    tls: TlsInfo | None = None

    def tls_info(self) -> TlsInfo | None:
        return self.tls


@dataclass
class FakePeer:
    cid: int
    account: FakeAccount
    kind: str = "Client"
    client_type: str = "nats"
    tls: TlsInfo | None = None
    ip: str = "127.0.0.1"
    port: int = 50000
    start_ns: int = 0
    last_activity_ns: int = 0
    rtt: float | None = None
    in_msgs: int = 0
    in_bytes: int = 0
    out_msgs: int = 0
    out_bytes: int = 0
    stalls: int = 0
    connect: ConnectOptions = field(default_factory=ConnectOptions)
    identity: User = field(default_factory=User)
    user: str = ""
    stop_ns: int = 0
    reason: str = ""


@dataclass
class FakeSession(FakePeer):
    link: FakeLink = field(default_factory=lambda: FakeLink())
    subs: dict[bytes, FakeSub] = field(default_factory=dict)
    pending: int = 0

    def pending_bytes(self) -> int:
        return self.pending


@dataclass
class FakeClosed(FakePeer):
    subs: tuple[FakeSub, ...] = ()


class FakeLog:
    def __init__(self) -> None:
        self.lines: list[str] = []

    def warn(self, text: str) -> None:
        self.lines.append(f"[WRN] {text}")

    def error(self, text: str) -> None:
        self.lines.append(f"[ERR] {text}")


@dataclass
class FakeBroker:
    options: Options = field(default_factory=Options)
    log: FakeLog = field(default_factory=FakeLog)
    clock: ManualClock = field(default_factory=ManualClock)
    server_id: str = "NSERVER"
    server_name: str = "test"
    host: str = "0.0.0.0"
    port: int = 4222
    sessions: dict[int, FakeSession] = field(default_factory=dict)
    closed: list[FakeClosed] = field(default_factory=list)
    accounts: dict[str, FakeAccount] = field(
        default_factory=lambda: {name: FakeAccount(name) for name in ("$G", "$SYS")}
    )
    total_connections: int = 0
    slow_consumers: int = 0
    stale_connections: int = 0
    stalled_clients: int = 0
    lame_duck_mode: bool = False
    jetstream_domain: str = ""
    jetstream_failure: str = ""
    jetstream_view: JetStreamView | None = None
    traffic: tuple[int, int, int, int] = (0, 0, 0, 0)

    def __post_init__(self) -> None:
        self.timers = Timers(self.clock)
        self.started_ns = self.config_loaded_ns = self.clock.now_ns()

    def totals(self) -> tuple[int, int, int, int]:
        return self.traffic

    # -- building ---------------------------------------------------------------------------------

    def connect(self, cid: int, account: str = "$G", **values: object) -> FakeSession:
        session = FakeSession(cid, self.accounts[account])
        self._fill(session, values)
        self.sessions[cid] = session
        session.account.sessions[cid] = session
        self.total_connections += 1
        return session

    def leave(self, session: FakeSession, reason: str = "Client Closed") -> FakeClosed:
        """Close a connection now."""
        del self.sessions[session.cid]
        del session.account.sessions[session.cid]
        session.stop_ns, session.reason = self.clock.now_ns(), reason
        common = {each.name: getattr(session, each.name) for each in fields(FakePeer)}
        record = FakeClosed(**common, subs=tuple(session.subs.values()))
        self.closed.append(record)
        return record

    def subscribe(
        self, session: FakeSession, subject: bytes, queue: bytes = b"", **values: int
    ) -> FakeSub:
        sid = b"%d" % (len(session.subs) + 1)
        sub = FakeSub(session, subject, queue, sid, **values)
        session.subs[sid] = sub
        session.account.router.sublist.subs.append(sub)
        session.account.router.sublist.inserts += 1
        return sub

    def _fill(self, peer: FakePeer, values: dict[str, object]) -> None:
        peer.start_ns = peer.last_activity_ns = self.clock.now_ns()
        for name, value in values.items():
            assert hasattr(peer, name), name
            setattr(peer, name, value)
