"""`$JS.API` of the system account: it has no streams, but it may remove those of others.

Every word but a few that only a cluster knows is answered, also those that mean nothing elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from jetstream_py.api import advisories
from jetstream_py.api import responses as r
from jetstream_py.api.errors import error

if TYPE_CHECKING:
    from jetstream_py.api.service import Caller
    from jetstream_py.engine.jetstream import JetStream

API = b"$JS.API."
_ACCOUNT = b"ACCOUNT."
_PURGE = b"ACCOUNT.PURGE."
_CLUSTER_ONLY = (b"META.LEADER.STEPDOWN", b"SERVER.REMOVE")


class _Nobody:
    """How the audit names those whom it does not know."""

    wants_no_responders = False

    def describe(self) -> dict[str, object]:
        return {}


class SystemApi:
    """Serves the system account's `JetStream`, which is never enabled."""

    def __init__(self, js: JetStream, log: Callable[[str], None]) -> None:
        self.js = js
        self._log = log
        self._subs = [js.bus.subscribe(API + b">", self.request)]
        self._domain = b"$JS.%b.API." % js.settings.domain.encode()
        if js.settings.domain:
            self._subs.append(js.bus.subscribe(self._domain + b">", self._request_by_domain))

    def close(self) -> None:
        for sub in self._subs:
            self.js.bus.unsubscribe(sub)

    def _request_by_domain(
        self, subject: bytes, reply: bytes, headers: bytes, body: bytes, caller: Caller | None
    ) -> None:
        self.request(API + subject[len(self._domain) :], reply, headers, body, caller)

    def request(
        self, subject: bytes, reply: bytes, headers: bytes, body: bytes, caller: Caller | None
    ) -> None:
        path = subject[len(API) :]
        if path.startswith(_ACCOUNT):
            name = path.removeprefix(_PURGE)
            if path.startswith(_PURGE) and b"." not in name:
                self._purge(name.decode("utf-8", "replace"))
                answer = r.encode(r.AccountPurgeResponse(initiated=True))
                self._conclude(subject, reply, body, answer, _Nobody())
        elif path not in _CLUSTER_ONLY:
            info = path == b"INFO"
            kind = r.AccountInfoResponse if info else r.Response
            answer = r.failure(kind, error(10039))
            self._conclude(subject, reply, body, answer, _Nobody() if info else None)

    def _conclude(
        self, subject: bytes, reply: bytes, body: bytes, answer: bytes, caller: Caller | None
    ) -> None:
        if reply:
            self.js.outbox.send(self.js.bus, reply, answer)
        advisories.audit(self.js, subject, body, answer, caller)

    def _purge(self, name: str) -> None:
        """Delete all streams of an account, whether it is there or has left them behind."""
        account = self.js.engine.accounts.get(name)
        names = list(account.streams) if account is not None else []
        there = str(account is not None).lower()
        self._log(f"Purge request for account {name} (streams: {len(names)}, hasAccount: {there})")
        for stream in names:
            assert account is not None
            account.delete(stream)
            advisories.stream_action(account, stream, "delete")
        self.js.engine.forget(name)
