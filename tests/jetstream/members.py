"""Servers with several accounts, and connections of their users."""

from __future__ import annotations

from tests.jetstream.support import JetStream, OwnServer
from tests.support.raw import RawClient
from tests.support.wire import connect

# Each account has one user, who is called like it.
SYSTEM = "SYS { users: [{user: SYS, password: p}] }"


def account(name: str, limits: str | None = None, more: str = "") -> str:
    """An account with JetStream, if there are `limits` (which may be none)."""
    jetstream = f"jetstream: {{ {limits} }}" if limits is not None else ""
    return f"{name} {{ users: [{{user: {name}, password: p}}]\n{more}\n{jetstream} }}"


def accounts(*blocks: str, server: str = "") -> str:
    """A configuration; who does not say who it is belongs to account A."""
    system = "system_account: SYS" if SYSTEM in blocks else ""
    joined = "\n".join(blocks)
    return f"accounts {{ {joined} }}\nno_auth_user: A\n{system}\n{server}\n"


class Member(JetStream):
    """A connection of a user; what is said on it goes into the transcript of the first."""

    def __init__(self, js: JetStream, user: str) -> None:
        self.user = user
        self.inboxes = f"_INBOX.{user}"
        super().__init__(js.server, js.store)
        self.lines = js.lines

    def _connect(self) -> RawClient:
        who = {"user": self.user, "pass": "p"}
        opening = connect(headers=True, no_responders=True, **who)
        client = self.server.client(opening + f"SUB {self.inboxes}.* 1\r\n".encode())
        client.exchange()
        return client

    def _note(self, mark: str, text: str) -> None:
        super()._note(f"{self.user} {mark}", text)


class Members:
    """Connects users when they are first asked for."""

    def __init__(self, js: OwnServer) -> None:
        self._js = js
        self._found: dict[str, Member] = {}

    def __getitem__(self, user: str) -> Member:
        if user not in self._found:
            self._found[user] = Member(self._js, user)
        return self._found[user]

    def leave(self) -> None:
        for member in self._found.values():
            member.close()
        self._found.clear()


def reload(js: OwnServer, config: str) -> None:
    """Until it is done."""
    done = "Reloaded server configuration"
    before = js.server.log().count(done)
    js.config = config
    js.server.reload(config)
    js.until(lambda: js.server.log().count(done) > before)
