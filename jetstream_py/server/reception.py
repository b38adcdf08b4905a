"""The reception: clients come in here as the user that they prove to be, and stay as long as they are it.

Judging is `auth`'s business and has no side effects; this is where a verdict becomes a deed: the session is
admitted, refused, or held while threads or the service of an auth callout are busy with it. After a reload
everybody is looked at again.
"""

from __future__ import annotations

import os
from base64 import urlsafe_b64encode
from typing import TYPE_CHECKING

from jetstream_py import limits
from jetstream_py.config.account_options import Permissions, User
from jetstream_py.gotext import quote
from jetstream_py.server import proto
from jetstream_py.server.auth import (
    Ask,
    Attempt,
    Guard,
    Later,
    Refusal,
    Verdict,
    for_websocket,
)
from jetstream_py.server.callout import Callout
from jetstream_py.server.permissions import Rights
from jetstream_py.server.workers import Workers

if TYPE_CHECKING:
    from jetstream_py.config.options import Options
    from jetstream_py.server.accounts import Account
    from jetstream_py.server.broker import Broker
    from jetstream_py.server.session import Session

_NONCE_BYTES = 11


class Reception:
    """Of one server."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._rights: dict[Permissions, Rights] = {}
        self.workers = Workers(broker.loop.call_soon_threadsafe)
        self._callout = Callout(broker)
        self._guest = f"nats-{broker.new_id()[:8]}"
        self.use(broker.options)

    def use(self, options: Options) -> None:
        """Judge by these options from now on."""
        self.guard = Guard(options, self._broker.operator, self._guest)
        own = for_websocket(options)
        self._websocket_guard = Guard(own, self._broker.operator, self._guest)
        self._rights.clear()

    def guard_of(self, session: Session) -> Guard:
        """Who judges a client, depending on the way it came."""
        return self._websocket_guard if session.client_type == "websocket" else self.guard

    def rights_of(self, user: User) -> Rights | None:
        """The compiled permissions of a user, one object for all that have the same."""
        given = user.permissions
        if given is None:
            return None
        rights = self._rights.get(given)
        if rights is None:
            if len(self._rights) >= limits.RIGHTS:
                self._rights.clear()
            rights = self._rights[given] = Rights(given)
        return rights

    # -- who comes --------------------------------------------------------------------------------

    def welcome(self, session: Session) -> None:
        """A client has said nothing yet: who is it until it does?"""
        guard = self.guard_of(session)
        user = guard.default()
        if user is None:
            session.awaiting_auth = True
        else:
            session.become(user)
            session.implicit_connect = bool(guard.no_auth_user)
        if guard.wants_nonce:
            session.nonce = urlsafe_b64encode(os.urandom(_NONCE_BYTES)).decode().rstrip("=")

    def authenticate(self, session: Session) -> None:
        """Admit the session, refuse it, or hold it until that is known. Raises Fault."""
        verdict = self.guard_of(session).judge(self._attempt(session))
        if isinstance(verdict, User | Refusal):
            self._settle(session, verdict)
            return
        session.held = True
        session.awaiting_auth = True
        session.link.hold()
        self._wait(session, verdict)

    def _attempt(self, session: Session) -> Attempt:
        return Attempt(
            session.connect,
            session.nonce,
            session.ip,
            session.link.connection_type,
            session.link.peer(),
            now=self._broker.clock.now_ns() / 1e9,
        )

    def _wait(self, session: Session, verdict: Later | Ask) -> None:
        def done(later: Verdict) -> None:
            self._conclude(session, later)

        if isinstance(verdict, Ask):
            self._callout.ask(session, verdict.callout, done)
        elif not self.workers.run(verdict, lambda: not session.closed, done):
            self.refuse(session, Refusal("too many logins at once"))

    def _conclude(self, session: Session, verdict: Verdict) -> None:
        """What a held session waited for."""
        if session.closed:
            return
        if not isinstance(verdict, User | Refusal):
            self._wait(session, verdict)
            return
        try:
            self._settle(session, verdict)
        except proto.Fault as fault:
            session.fail(fault)
        if not session.closed:
            session.release()
        self._broker.flush_soon()

    def _settle(self, session: Session, verdict: User | Refusal) -> None:
        if isinstance(verdict, Refusal):
            self.refuse(session, verdict)
            return
        account = self._broker.account_of(verdict)
        most = account.options.max_connections
        if 0 <= most <= len(account.sessions) and session.cid not in account.sessions:
            session.drop_all()
            session.account.sessions.pop(session.cid, None)
            session.account, session.identity = account, verdict
            self._too_many(session)
            return
        session.admit(verdict)
        self._watch(session, verdict)

    def _watch(self, session: Session, user: User) -> None:
        """A user who may not stay for ever leaves in time."""
        broker = self._broker
        now = broker.clock.now_ns() / 1e9
        end = float(user.expires) or None
        if user.jwt and broker.operator is not None:
            end = broker.operator.leaves_at(user, now)
        if end is not None:
            broker.timers.call_later(max(0.0, end - now), lambda: self._expire(session, user))

    # -- who has to go ----------------------------------------------------------------------------

    def refuse(self, session: Session, refusal: Refusal = Refusal()) -> None:  # noqa: B008
        broker, client = self._broker, session.connect
        who = f" - User {quote(client.user)}" if client.user else ""
        who = who or (f" - Nkey {quote(client.nkey)}" if client.nkey else "")
        broker.violation(session, f"authentication error{who}")
        if broker.events is not None:
            broker.events.auth_error(session, refusal.text)
        broker.close_session(session, proto.AUTHENTICATION_VIOLATION, refusal.text)

    def _too_many(self, session: Session) -> None:
        error = "maximum account active connections exceeded"
        self._broker.violation(session, error)
        self._broker.close_session(session, proto.MAX_ACCOUNT_CONNECTIONS, error)

    def _expire(self, session: Session, user: User) -> None:
        if not session.closed and session.identity is user:
            error = "User Authentication Expired"
            self._broker.violation(session, error)
            self._broker.close_session(session, proto.AUTHENTICATION_EXPIRED, error)

    # -- after a reload ---------------------------------------------------------------------------

    def review(self, session: Session) -> None:
        """Is a connected client still who it was, and may it stay?"""
        user = self.guard_of(session).still(session.identity, self._attempt(session))
        if isinstance(user, Refusal):
            self.refuse(session, user)
        elif user is None or user.account not in self._broker.accounts:
            self._broker.close_session(session, proto.CLIENT_CLOSED)
        else:
            self._keep(session, user)

    def _keep(self, session: Session, user: User) -> None:
        """A client stays: as the user that it is now."""
        if user != session.identity:
            changed = user.permissions != session.identity.permissions
            session.become(user)
            if changed:
                session.review_subs()
                session.account.router.forget_all()
        session.map_by_account()
        session.count_subs()

    def trim(self, account: Account) -> None:
        """Send away who is too many by the new limits."""
        most = account.options.max_connections
        while 0 <= most < len(account.sessions):
            self._too_many(next(reversed(account.sessions.values())))
