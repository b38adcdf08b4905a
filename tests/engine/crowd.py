"""A server with several accounts in the test's own process: each account has a user of its name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jetstream_py.app.jetstream import JetStreamPart
from jetstream_py.config.account_options import AccountOptions, StreamLimits, User
from jetstream_py.config.options import Authorization, JetStreamOptions, Options
from jetstream_py.config.secret import Secret
from tests.engine.world import Ticking
from tests.server.harness import Bench, Client
from tests.support.wire import connect

# What an account may store; None: it has no JetStream.
Limits = Mapping[str, StreamLimits | None]
FREE = StreamLimits()


def options(limits: Limits, server: Mapping[str, object] | None = None) -> Options:
    users = tuple(User(name, Secret("p"), account=name) for name in limits)
    return Options(
        accounts=tuple(AccountOptions(name, jetstream=most) for name, most in limits.items()),
        authorization=Authorization(users),
        jetstream=JetStreamOptions(enabled=True, settings=dict(server or {})),
    )


class Crowd(Ticking):
    """Its requests are answered one by one."""

    def __init__(
        self, path: Path, limits: Limits, server: Mapping[str, object] | None = None
    ) -> None:
        self._server = server
        self.bench = Bench(options(limits, server))
        self.part = JetStreamPart(self.bench.broker, str(path), self.bench.loop)
        self.store = self.part.store
        self._clients: dict[str, Client] = {}

    def client(self, user: str) -> Client:
        if user not in self._clients:
            who = {"user": user, "pass": "p"}
            client = self.bench.client(connect(headers=True, no_responders=True, **who))
            client.send(b"SUB _INBOX.* 1\r\n")
            self._clients[user] = client
        return self._clients[user]

    def request(self, user: str, subject: str, data: bytes = b"") -> bytes:
        """All that comes back."""
        client = self.client(user)
        client.send(f"PUB {subject} _INBOX.a {len(data)}\r\n".encode() + data + b"\r\n")
        self.settle()
        return client.read()

    def ask(self, user: str, subject: str, body: object = b"") -> Any:
        """The JSON of the answer."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        _, answer, _ = self.request(user, subject, data).split(b"\r\n")
        return json.loads(answer)

    def api(self, user: str, verb: str, body: object = b"") -> Any:
        return self.ask(user, f"$JS.API.{verb}", body)

    def create(self, user: str, name: str, **config: object) -> Any:
        return self.api(user, f"STREAM.CREATE.{name}", {"name": name, **config})

    def names(self, user: str) -> list[str]:
        return self.api(user, "STREAM.NAMES")["streams"] or []

    def reload(self, limits: Limits) -> None:
        self.bench.broker.apply(options(limits, self._server))
        self.part.apply()
        self._clients = {
            user: client for user, client in self._clients.items() if not client.session.closed
        }
        self.settle()

    def crash(self) -> None:
        """LMDB allows one open store per process, so let go of it only."""
        self.store._abandon()
        self.bench.close()

    def close(self) -> None:
        self.settle()
        self.part.close()
        self.bench.close()
