"""Auth callout: a service in one of the accounts decides who may connect.

The server publishes a signed request with everything the client said, sealed if the service has a curve key,
and waits for a signed user, as long as a login may take. What a question and an answer are is the business of
`jwt.callout`; here is their way. The keys are made when the first client is to be judged: a server without
callout needs no cryptography.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from jetstream_py import headers as header
from jetstream_py import nkey
from jetstream_py.config.account_options import AuthCallout, User
from jetstream_py.server.auth import Refusal
from jetstream_py.version import NATS_VERSION

if TYPE_CHECKING:
    from jetstream_py.jwt.callout import House, Question
    from jetstream_py.server.broker import Broker
    from jetstream_py.server.internal import Internal
    from jetstream_py.server.session import Session

Done = Callable[[User | Refusal], None]

_SHARE = 0.9  # of the time for a login: who is not judged in time is refused, not timed out
_TOLD = ("jwt", "nkey", "sig", "auth_token", "user", "pass", "name", "lang", "version", "protocol")


class Callout:
    """Asks for one server."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def ask(self, session: Session, callout: AuthCallout, done: Done) -> None:
        """Call `done` with the service's decision, or with a refusal when none comes in time."""
        account = self._broker.accounts.get(callout.account)
        if account is None:
            done(Refusal("auth callout without account"))
            return
        _Request(self._broker, account.internal, session, callout, done).send()


class _Request:
    """One question under way."""

    def __init__(
        self,
        broker: Broker,
        internal: Internal,
        session: Session,
        callout: AuthCallout,
        done: Done,
    ) -> None:
        self._broker = broker
        self._internal = internal
        self._callout = callout
        self._done: Done | None = done
        self._question = self._ask_about(session)
        reply = b"$SYS._INBOX.%b.%b" % (broker.new_token(), broker.new_token())
        self._reply = reply
        self._sub = internal.subscribe(reply, self._answer)
        patience = broker.options.authorization.timeout * _SHARE
        self._timer = broker.timers.call_later(
            patience, lambda: self._end(Refusal("no answer from the auth callout"))
        )

    def send(self) -> None:
        from jetstream_py.jwt import callout as protocol

        broker, callout = self._broker, self._callout
        now = broker.clock.now_ns() / 1e9
        timeout = broker.options.authorization.timeout
        keys = broker.keys
        body = protocol.request(self._question, callout.issuer, keys, now, timeout).encode()
        block = b""
        if callout.xkey:
            body = broker.curve.seal(body, callout.xkey, os.urandom(24))
            name = protocol.XKEY_HEADER.encode()
            block = header.extend(b"", (name, broker.curve.public.encode()))
        subject = protocol.REQUEST_SUBJECT.encode()
        if not self._internal.publish(subject, body, self._reply, block):
            self._end(Refusal("nobody serves the auth callout"))

    def _ask_about(self, session: Session) -> Question:
        from jetstream_py.jwt.callout import Question

        broker = self._broker
        server = {
            "name": broker.server_name,
            "host": broker.host,
            "id": broker.server_id,
            "version": NATS_VERSION,
        }
        if self._callout.xkey:
            server["xkey"] = broker.curve.public
        told = msgspec.to_builtins(session.connect)
        client: dict[str, object] = {
            "host": session.ip,
            "id": session.cid,
            "user": session.connect.user,
            "name": session.connect.name,
            "kind": "Client",
            "type": session.client_type,
            "nonce": session.nonce,
        }
        return Question(
            server_id=server,
            user_nkey=nkey.KeyPair(nkey.encode_seed(nkey.USER, os.urandom(32))).public,
            client_info={key: value for key, value in client.items() if value},
            connect_opts={key: told[key] for key in _TOLD if told.get(key)},
        )

    def _answer(
        self, subject: bytes, reply: bytes, block: bytes, payload: bytes, client: Session | None
    ) -> None:
        from jetstream_py.jwt import callout as protocol
        from jetstream_py.jwt import judge

        broker, callout = self._broker, self._callout
        if callout.xkey:
            payload = broker.curve.open(payload, callout.xkey) or b""
        now = broker.clock.now_ns() / 1e9
        text = payload.decode("utf-8", "replace")
        verdict = protocol.answer(text, callout, self._question, now, self._house())
        if isinstance(verdict, judge.Refusal):
            broker.log.error(verdict.reason)
            self._end(Refusal(verdict.reason))
        else:
            self._end(verdict)

    def _house(self) -> House:
        operator = self._broker.operator
        if operator is not None:
            return operator.house(self._callout)
        from jetstream_py.jwt.callout import Configured

        return Configured(self._callout, self._may_use)

    def _may_use(self, account: str) -> bool:
        allowed = self._callout.allowed_accounts
        return account in self._broker.accounts and (not allowed or account in allowed)

    def _end(self, verdict: User | Refusal) -> None:
        done, self._done = self._done, None
        if done is None:
            return
        self._timer.cancel()
        self._internal.unsubscribe(self._sub)
        done(verdict)
