"""Operator mode in the server: accounts that appear when somebody needs them, and change while they are used.

`jwt.OperatorMode` knows what to believe; here it meets the accounts and connections of a broker.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec

from jetstream_py.config.account_options import AccountOptions, AuthCallout, Import, User
from jetstream_py.jwt import OperatorMode, activated_until, expiry, handle
from jetstream_py.jwt import Refusal as JwtRefusal
from jetstream_py.jwt.callout import House, Operated
from jetstream_py.jwt.mode import CHANGED, GONE, REVOKED
from jetstream_py.server import proto
from jetstream_py.server.auth import Ask, Attempt, Later, Refusal, Verdict

if TYPE_CHECKING:
    from jetstream_py.server.broker import Broker
    from jetstream_py.server.session import Session
    from jetstream_py.timers import Timer

# Why connections are closed when their account changed.
_REASONS = {
    REVOKED: proto.REVOKED,
    GONE: proto.AUTHENTICATION_EXPIRED,
    CHANGED: proto.AUTHENTICATION_VIOLATION,
}
_SERVICES = (b"$SYS.REQ.CLAIMS.*", b"$SYS.REQ.ACCOUNT.*.CLAIMS.*")


class OperatorPart:
    """The judge of JWTs, and the services that change accounts."""

    def __init__(self, broker: Broker, mode: OperatorMode, sentinel: str = "") -> None:
        """`sentinel` is the token of clients that show none."""
        self._broker = broker
        self.mode = mode
        self._sentinel = sentinel
        self._ends: dict[str, int] = {}  # the second at which an account's token ends
        self._activations: dict[str, tuple[float, Timer]] = {}  # the first end of an importer's

    def serve(self) -> None:
        """Listen for changes of accounts, in the system account."""
        for subject in _SERVICES:
            self._broker.system_account.internal.subscribe(subject, self._request)

    # -- clients (see auth.Operator) --------------------------------------------------------------

    def authenticate(self, attempt: Attempt) -> Verdict:
        if not attempt.client.jwt and self._sentinel:
            client = msgspec.structs.replace(attempt.client, jwt=self._sentinel)
            attempt = attempt._replace(client=client)
        mode = self.mode
        wanted = mode.wanted(attempt.client)
        if wanted is not None:
            name: str = wanted

            def conclude(text: object) -> Verdict:
                mode.learn(name, text if isinstance(text, str) else None)
                return self._judge(attempt)

            return Later(lambda: mode.resolver.fetch(name, attempt.now), conclude)
        return self._judge(attempt)

    def _judge(self, attempt: Attempt) -> Verdict:
        verdict = self.mode.authenticate(
            attempt.client, attempt.nonce.encode(), attempt.ip, attempt.connection_type
        )
        if isinstance(verdict, JwtRefusal):
            if verdict.error:
                self._broker.log.error(verdict.reason)
            elif self._broker.log.debugging:
                self._broker.log.debug(verdict.reason)
            return Refusal(verdict.reason, verdict.answer)
        account = self.mode.account(verdict.account)
        if account is not None:
            self._watch(account)
        callout = account.callout if account is not None else None
        if callout is not None and verdict.nkey not in callout.users:
            return Ask(callout)
        return verdict

    def still(self, user: User) -> Refusal | None:
        refusal = self.mode.recheck(user)
        return None if refusal is None else Refusal(refusal.reason, refusal.answer)

    def is_activated(self, importer: str, imported: Import, exporter: AccountOptions) -> bool:
        now = self.mode.now()
        until = activated_until(importer, imported, exporter, now)
        if until is not None:
            self._ends_at(importer, until, now)
        return until is not None

    def _ends_at(self, importer: str, until: float, now: float) -> None:
        """Look at the imports again when the first of their activations has ended."""
        before = self._activations.get(importer)
        if until == math.inf or (before is not None and before[0] <= until):
            return
        if before is not None:
            before[1].cancel()
        timer = self._broker.timers.call_later(
            until - now, lambda: self._activation_ended(importer)
        )
        self._activations[importer] = until, timer

    def _activation_ended(self, importer: str) -> None:
        del self._activations[importer]
        account = self._broker.accounts.get(importer)
        if account is not None:
            account.connect(self._broker.accounts)

    def leaves_at(self, user: User, now: float) -> float | None:
        return expiry(user, now)

    def account(self, name: str) -> AccountOptions | None:
        return self.mode.account(name)

    def house(self, callout: AuthCallout) -> House:
        return Operated(callout, self.mode.trust, self.mode.find)

    # -- accounts ---------------------------------------------------------------------------------

    def _request(
        self, subject: bytes, reply: bytes, block: bytes, payload: bytes, client: Session | None
    ) -> bool | None:
        broker = self._broker
        answer = handle(self.mode, subject.decode("utf-8", "replace"), payload, self._server)
        if answer is None:
            return False
        for line in answer.errors:
            broker.log.error(line)
        for line in answer.debug:
            broker.log.debug(line)
        if answer.changed is not None:
            self.changed(answer.changed)
        for name in answer.deleted:
            self._leave(name)
        if reply:
            for body in answer.bodies:
                broker.system_account.internal.publish(reply, body)
        return True

    def _server(self) -> msgspec.Raw:
        return self._broker.server_block()

    def changed(self, options: AccountOptions) -> None:
        """An account is not what it was: those who do not fit any more leave."""
        broker = self._broker
        broker.use_account(options)
        self._watch(options)
        account = broker.accounts.get(options.name)
        for session in list(account.sessions.values()) if account is not None else ():
            refusal = self.mode.recheck(session.identity)
            if refusal is not None:
                broker.close_session(session, _REASONS[refusal], refusal.answer)

    def _watch(self, options: AccountOptions) -> None:
        """Be there when the account's token ends."""
        name, end = options.name, options.expires
        if end <= 0 or self._ends.get(name) == end:
            return
        self._ends[name] = end
        left = max(0.0, end - self.mode.now())
        self._broker.timers.call_later(left, lambda: self._ended(name, end))

    def _ended(self, name: str, end: int) -> None:
        if self._ends.get(name) == end:
            del self._ends[name]
            account = self._broker.accounts.get(name)
            if account is not None and account.options.expires == end:
                self._leave(name)

    def _leave(self, name: str) -> None:
        account = self._broker.accounts.get(name)
        if account is not None:
            for session in list(account.sessions.values()):
                self._broker.close_session(session, _REASONS[GONE], GONE.answer)
